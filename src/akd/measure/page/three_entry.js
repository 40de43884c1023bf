// What the page takes from three.js 0.187.0 (MIT). three.min.js is made from this file and nothing else:
//   npm install three@0.187.0 esbuild
//   npx esbuild three_entry.js --bundle --minify --format=iife --global-name=three --outfile=three.min.js
export {
  AnimationMixer, CanvasTexture, Color, DirectionalLight, Fog, Group, HemisphereLight, Mesh, MeshLambertMaterial,
  NearestFilter, NeutralToneMapping, PerspectiveCamera, PlaneGeometry, RepeatWrapping, Scene, SkeletonHelper,
  SRGBColorSpace, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
export { GLTFLoader } from "three/examples/jsm/loaders/GLTFLoader.js";
