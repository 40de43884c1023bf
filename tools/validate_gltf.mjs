// Check glTF files with the Khronos validator: `npm install && node validate_gltf.mjs FILE...`
// Prints {"file": {"errors": n, "warnings": n, "messages": [...]}, ...}; exits with 1 if any file has an error.
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { validateBytes } from 'gltf-validator';

const SEVERITIES = ['error', 'warning'];

async function check(path) {
  const report = await validateBytes(new Uint8Array(await readFile(path)), {
    uri: path,
    maxIssues: 0,
    externalResourceFunction: async (uri) => new Uint8Array(await readFile(join(dirname(path), decodeURIComponent(uri)))),
  });
  const messages = report.issues.messages
    .filter((issue) => issue.severity < SEVERITIES.length)
    .map(({ severity, code, message, pointer }) => ({ severity: SEVERITIES[severity], code, message, pointer }));
  return { errors: report.issues.numErrors, warnings: report.issues.numWarnings, messages };
}

const reports = {};
for (const path of process.argv.slice(2)) reports[path] = await check(path);
console.log(JSON.stringify(reports, null, 1));
process.exitCode = Object.values(reports).some((report) => report.errors) ? 1 : 0;
