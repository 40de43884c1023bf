// Plays the clip of the embedded GLB on the stage: y up, ground at y = 0, lengths in leg lengths, forward is +x.
(() => {
  "use strict";
  const page = document.documentElement;
  const $ = (id) => document.getElementById(id);
  const scene = JSON.parse($("scene").textContent);
  const bytes = Uint8Array.from(atob($("glb").textContent), (letter) => letter.charCodeAt(0));
  const PATH_SAMPLES = 48, LOOKED_AT = 600, TILE = 1, GROUND = 240, FOV = 28;
  const CAMERA = new three.Vector3(0.55, 0.27, 0.79);

  $("save").href = URL.createObjectURL(new Blob([bytes], { type: "model/gltf-binary" }));

  function fail(reason) {
    page.dataset.view = "failed";
    $("message").hidden = false;
    $("message").textContent = `The 3D view cannot be shown here (${reason}). The pictures and plots below still tell the motion.`;
  }

  // Vertices spread over all skinned meshes: enough of them to know where the body is.
  function someVertices(root) {
    const meshes = [];
    root.traverse((node) => node.isMesh && meshes.push(node));
    const total = meshes.reduce((sum, mesh) => sum + mesh.geometry.attributes.position.count, 0);
    const stride = Math.max(1, Math.floor(total / LOOKED_AT));
    return meshes.flatMap((mesh) => {
      const count = Math.ceil(mesh.geometry.attributes.position.count / stride);
      return Array.from({ length: count }, (_, i) => [mesh, i * stride]);
    });
  }

  // Where the camera looks over time: steady travel, plus the body's wanderings averaged over a second as if the clip went
  // round, so that nothing jumps when it starts again.
  function followPath(root, pose, duration) {
    const vertices = someVertices(root), point = new three.Vector3();
    const boxes = Array.from({ length: PATH_SAMPLES + 1 }, (_, i) => {
      pose((i / PATH_SAMPLES) * duration);
      root.updateMatrixWorld(true);
      const low = new three.Vector3(1e9, 1e9, 1e9), high = low.clone().negate();
      for (const [mesh, index] of vertices) {
        mesh.getVertexPosition(index, point).applyMatrix4(mesh.matrixWorld);
        low.min(point);
        high.max(point);
      }
      const size = high.clone().sub(low);
      return { centre: low.clone().add(high).multiplyScalar(0.5), breadth: Math.hypot(size.x, size.z) / 2, height: size.y / 2 };
    });
    const travel = boxes[PATH_SAMPLES].centre.clone().sub(boxes[0].centre).setY(0);
    const wander = boxes.slice(0, -1).map(({ centre }, i) => centre.clone().addScaledVector(travel, -i / PATH_SAMPLES));
    const reach = Math.min(Math.round((0.5 * PATH_SAMPLES) / Math.max(duration, 1e-6)), PATH_SAMPLES / 2);
    const smooth = wander.map((_, i) => {
      const sum = new three.Vector3();
      for (let k = -reach; k < reach || k === -reach; k++) sum.add(wander[(i + k + PATH_SAMPLES) % PATH_SAMPLES]);
      return sum.multiplyScalar(1 / Math.max(2 * reach, 1));
    });
    const at = (share) => {
      const place = share * PATH_SAMPLES, i = Math.floor(place) % PATH_SAMPLES;
      return smooth[i].clone().lerp(smooth[(i + 1) % PATH_SAMPLES], place - Math.floor(place)).addScaledVector(travel, share);
    };
    const away = boxes.map((box, i) => box.centre.clone().sub(at(i / PATH_SAMPLES)));
    const breadth = Math.max(...boxes.map((box, i) => box.breadth + Math.hypot(away[i].x, away[i].z)));
    const height = Math.max(...boxes.map((box, i) => box.height + Math.abs(away[i].y)));
    return { at, travel, breadth, height, radius: Math.hypot(breadth, height) };
  }

  // An endless tiled floor: the plane goes with the camera, its tiles stay where they are.
  function makeGround(renderer) {
    const canvas = Object.assign(document.createElement("canvas"), { width: 2, height: 2 });
    const tiles = new three.CanvasTexture(canvas);
    tiles.wrapS = tiles.wrapT = three.RepeatWrapping;
    tiles.repeat.setScalar(GROUND / (2 * TILE));
    tiles.magFilter = three.NearestFilter;
    tiles.colorSpace = three.SRGBColorSpace;
    tiles.anisotropy = renderer.capabilities.getMaxAnisotropy();
    const ground = new three.Mesh(new three.PlaneGeometry(GROUND, GROUND), new three.MeshLambertMaterial({ map: tiles }));
    ground.rotation.x = -Math.PI / 2;
    ground.receiveShadow = true;
    const paint = (dark, light) => {
      const brush = canvas.getContext("2d");
      for (const [i, color] of [dark, light, light, dark].entries()) {
        brush.fillStyle = color;
        brush.fillRect(i % 2, i >> 1, 1, 1);
      }
      tiles.needsUpdate = true;
    };
    const place = (target, shift) => {
      ground.position.set(target.x, 0, target.z);
      tiles.offset.set(((target.x + shift.x) / (2 * TILE)) % 1, (-(target.z + shift.z) / (2 * TILE)) % 1);
    };
    return { ground, paint, place };
  }

  function makeLight(radius) {
    const light = new three.DirectionalLight(0xffffff, 2.0);
    const reach = 2 * radius;
    Object.assign(light.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.1, far: 10 * radius });
    light.castShadow = true;
    light.shadow.mapSize.setScalar(1024);
    light.shadow.radius = 5;
    light.shadow.normalBias = 0.01 * radius;
    const place = (target) => {
      light.position.set(0.3, 1, 0.55).normalize().multiplyScalar(5 * radius).add(target);
      light.target.position.copy(target);
      light.target.updateMatrixWorld();
    };
    return { light, place };
  }

  function start(gltf, renderer) {
    const clip = gltf.animations.find(({ name }) => name === scene.clip) ?? gltf.animations.at(-1);
    const duration = clip ? clip.duration : 0;
    const mixer = new three.AnimationMixer(gltf.scene);
    const action = clip && mixer.clipAction(clip).play();
    const pose = (time) => {
      if (!action) return;
      action.time = time;
      mixer.update(0);
    };

    const world = new three.Scene(), stage = new three.Group();
    stage.matrixAutoUpdate = false;
    stage.matrix.set(...scene.stage_from_glb);
    stage.add(gltf.scene);
    world.add(stage);
    gltf.scene.traverse((node) => {
      if (!node.isMesh) return;
      Object.assign(node, { castShadow: true, frustumCulled: false });
      // There are no surroundings to mirror, and metal without them is black.
      for (const material of [node.material].flat()) if (material.metalness > 0.2) material.metalness = 0.2;
    });
    const path = followPath(stage, pose, duration);

    const bones = new three.SkeletonHelper(gltf.scene);
    bones.visible = false;
    bones.material.fog = false;
    const { ground, paint, place: placeGround } = makeGround(renderer);
    const { light, place: placeLight } = makeLight(path.radius);
    world.add(bones, ground, light, light.target, new three.HemisphereLight(0xffffff, 0x9a9590, 2.2));

    const camera = new three.PerspectiveCamera(FOV, 1, 0.01, 1000);
    const controls = new three.OrbitControls(camera, renderer.domElement);
    const target = path.at(0), shift = new three.Vector3();
    Object.assign(controls, { enablePan: false, maxPolarAngle: 0.495 * Math.PI, rotateSpeed: 0.7 });
    controls.target.copy(target);

    let time = 0, laps = 0, last = null, playing = false, draw = true;
    const fit = () => {
      const { clientWidth: width, clientHeight: height } = $("view");
      renderer.setSize(width, height, false);
      camera.aspect = width / height;
      camera.updateProjectionMatrix();
      draw = true;
    };
    new ResizeObserver(fit).observe($("view"));
    fit();
    // Seen a little from above, a body is as high as it is tall and a part of its breadth; its near side looks larger.
    const slope = Math.tan((FOV / 2) * (Math.PI / 180));
    const spread = Math.max(path.breadth / camera.aspect, path.height + CAMERA.y * path.breadth) / slope;
    const distance = 0.95 * (path.breadth + spread);
    camera.position.copy(CAMERA).normalize().multiplyScalar(distance).add(target);
    controls.minDistance = 0.25 * distance;
    controls.maxDistance = 3 * distance;
    controls.addEventListener("change", () => (draw = true));

    const colors = () => {
      const style = getComputedStyle(page), color = (name) => style.getPropertyValue(name).trim();
      world.background = new three.Color(color("--sky"));
      world.fog = new three.Fog(world.background, 1.4 * distance, 5 * distance);
      paint(color("--tile-a"), color("--tile-b"));
      draw = true;
    };
    colors();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", colors);

    const setPlaying = (on) => {
      playing = on && duration > 0;
      page.classList.toggle("playing", playing);
      page.dataset.view = playing ? "playing" : "paused";
    };
    const seek = (share) => {
      time = Math.min(Math.max(share, 0), 1) * duration;
      draw = true;
    };
    const show = () => {
      const share = duration ? time / duration : 0;
      page.style.setProperty("--now", share.toFixed(4));
      $("time").value = share;
      $("clock").textContent = `${time.toFixed(2)} / ${duration.toFixed(2)} s`;
      pose(time);
      const next = path.at(share);
      camera.position.add(next).sub(target);
      controls.target.copy(target.copy(next));
      // Every lap goes on where the last one ended, and a clip that walks in place has the ground run under it.
      shift.copy(path.travel).multiplyScalar(laps);
      shift.x += scene.treadmill * (laps * duration + time);
      placeGround(target, shift);
      placeLight(target);
      controls.update();
      renderer.render(world, camera);
    };
    const tick = (now) => {
      if (playing && last !== null) time += Math.min((now - last) / 1000, 0.1) * $("speed").value;
      last = now;
      if (duration && time > duration) {
        laps += Math.floor(time / duration);
        time %= duration;
      }
      if (playing || draw) {
        draw = false;
        show();
      }
      requestAnimationFrame(tick);
    };

    $("play").addEventListener("click", () => setPlaying(!playing));
    $("time").addEventListener("input", () => (setPlaying(false), seek(Number($("time").value))));
    $("bones").addEventListener("change", () => {
      bones.visible = $("bones").checked;
      draw = true;
    });
    for (const plot of document.querySelectorAll(".seek")) {
      const follow = (event) => {
        const box = plot.getBoundingClientRect();
        setPlaying(false);
        seek((event.clientX - box.left) / box.width);
      };
      plot.addEventListener("pointerdown", follow);
      plot.addEventListener("pointermove", (event) => event.buttons && follow(event));
    }
    $("message").hidden = true;
    setPlaying(!matchMedia("(prefers-reduced-motion: reduce)").matches);
    requestAnimationFrame(tick);
  }

  try {
    const renderer = new three.WebGLRenderer({ antialias: true });
    renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    renderer.toneMapping = three.NeutralToneMapping;
    renderer.shadowMap.enabled = true;
    $("view").prepend(renderer.domElement);
    new three.GLTFLoader()
      .parseAsync(bytes.buffer, "")
      .then((gltf) => start(gltf, renderer))
      .catch((error) => fail(error.message));
  } catch (error) {
    fail(error.message);
  }
})();
