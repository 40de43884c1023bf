"""Several Ray nodes on this machine as processes of their own: prints the address, then kills the node it is told to.

``python tests/simulated_cluster.py 4`` prints ADDRESS (with ``dashboard`` after the number: where jobs are submitted); a line
``kill 2`` on its input kills the raylet of node 2 with SIGKILL; the end of its input ends everything.
"""

import os
import signal
import sys


def main() -> None:
    from ray.cluster_utils import Cluster

    dashboard = sys.argv[2:] == ["dashboard"]
    node = {"num_cpus": 1, "object_store_memory": 80_000_000}
    head = node | {"include_dashboard": dashboard, "dashboard_port": 0}
    if dashboard:
        head["dashboard_agent_listen_port"] = 0  # jobs are submitted through the agent, which has no port otherwise
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.head_node, *(cluster.add_node(**node) for _ in range(int(sys.argv[1]) - 1))]
    cluster.wait_for_nodes()
    print(f"http://{cluster.head_node.webui_url}" if dashboard else cluster.address, flush=True)
    for line in sys.stdin:
        number = int(line.split()[1])
        (raylet,) = nodes[number].all_processes["raylet"]
        os.kill(raylet.process.pid, signal.SIGKILL)
        print(f"killed {number}", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    main()
