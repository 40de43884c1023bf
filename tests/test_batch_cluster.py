"""A batch on a simulated cluster: nodes and the driver are killed, and every result is there once, as the plain loop makes it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from akd.batch.place import Place
from akd.batch.results import read_results
from quick_batch import COUNTED, ROOT, batch_command, counted_iterations, environment, write_jobs
from quick_runs import content

pytest.importorskip("ray")
JOBS, ITERATIONS, NODES = int(os.environ.get("AKD_TEST_JOBS", "200")), 3, 4


@contextmanager
def cluster(nodes: int, env: dict[str, str], *words: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, str(ROOT / "tests" / "simulated_cluster.py"), str(nodes), *words]
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process
        assert process.stdin is not None
        process.stdin.close()
        process.wait(120)


def finished(out: Path) -> int:
    return len(list(out.glob("runs/*/result.json")))


def wait_until(out: Path, count: int, driver: subprocess.Popen[str]) -> None:
    while finished(out) < count:
        assert driver.poll() is None, driver.communicate()
        time.sleep(0.05)


def processes_of(folder: Path) -> list[str]:
    """Command lines of all processes that were started with a test's environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"{COUNTED}={folder}".encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:100])
        except OSError:
            continue
    return found


def wait_until_alone(folder: Path, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while processes_of(folder):
        assert time.monotonic() < until, processes_of(folder)
        time.sleep(0.5)


@pytest.mark.slow
def test_nodes_and_the_driver_may_be_killed(tmp_path: Path) -> None:
    jobs = write_jobs(tmp_path / "jobs.csv", JOBS, iterations=ITERATIONS)
    plain, killed = tmp_path / "plain", tmp_path / "killed"
    subprocess.run(batch_command(jobs, "--out", plain / "out"), env=environment(plain), check=True, capture_output=True)
    env, out = environment(killed, pause=0.2), killed / "out"
    with cluster(NODES, env) as (address, process):
        command = batch_command(jobs, "--out", out, "--ray", address, "--workers", NODES)
        driver = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(out, JOBS // 4, driver)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("kill 2\n")
        process.stdin.flush()
        assert process.stdout.readline() == "killed 2\n"
        wait_until(out, JOBS // 2, driver)
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
        before = finished(out)
        again = subprocess.run(command, env=env, capture_output=True, text=True)
        assert again.returncode == 0, again.stderr
    wait_until_alone(killed)
    rows = list(read_results(Place(str(out))))
    assert len(rows) == len({row["id"] for row in rows}) == JOBS
    assert {row["status"] for row in rows} == {"done"}
    assert before >= JOBS // 2
    assert content(out / "runs") == content(plain / "out" / "runs")
    counts = counted_iterations(killed)
    assert len(counts) == JOBS * ITERATIONS
    # One job was at work on the lost node, and one on each node that was left when the driver died.
    assert sum(counts.values()) - JOBS * ITERATIONS <= 1 + (NODES - 1)
    print(f"{sum(counts.values())} iterations computed for {JOBS * ITERATIONS}; {before} jobs were done when the driver died")


@pytest.mark.slow
def test_a_killed_driver_leaves_no_process_of_its_own_ray(tmp_path: Path) -> None:
    jobs = write_jobs(tmp_path / "jobs.csv", 8)
    env, out = environment(tmp_path, pause=0.2), tmp_path / "out"
    command = batch_command(jobs, "--out", out, "--workers", 2)
    driver = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(out, 2, driver)
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    wait_until_alone(tmp_path)
    assert subprocess.run(command, env=env, capture_output=True, text=True).returncode == 0
    assert finished(out) == 8
    wait_until_alone(tmp_path)


@pytest.mark.slow
def test_a_batch_is_submitted_as_a_ray_job(tmp_path: Path) -> None:
    jobs, env, out = write_jobs(tmp_path / "jobs.csv", 2), environment(tmp_path), tmp_path / "out"
    with cluster(1, env, "dashboard") as (address, _):
        submit = [str(Path(sys.executable).parent / "ray"), "job", "submit", "--address", address, "--"]
        command = [*submit, *batch_command(jobs, "--out", out)]
        until = time.monotonic() + 120
        while "No available agent" in (ended := subprocess.run(command, env=env, capture_output=True, text=True)).stderr:
            assert time.monotonic() < until, ended.stderr  # the cluster takes a while to be ready for jobs
        assert ended.returncode == 0, ended.stdout + ended.stderr
        assert "2 done, 0 failed" in ended.stdout
    wait_until_alone(tmp_path)
    assert finished(out) == 2
