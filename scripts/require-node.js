/**
 * Says in plain words that this Node is too old, before one that cannot run TypeScript says it in its own. JavaScript
 * for that reason. npm scripts run on the pinned `node` of node_modules/.bin; this fires where they were bypassed.
 */
import { readFileSync } from 'node:fs';

const { engines } = JSON.parse(readFileSync('package.json', 'utf8'));
const required = /^>=(\d+)\.(\d+)\.(\d+)$/.exec(engines.node)?.slice(1).map(Number);
if (required === undefined) throw new Error(`engines.node must read ">=major.minor.patch", it reads "${engines.node}"`);

const present = process.versions.node.split('.').map(Number);
const index = required.findIndex((part, place) => part !== present[place]);
if (index !== -1 && present[index] < required[index]) {
  console.error(`Node ${engines.node} is needed, this is ${process.version} (${process.execPath}).`);
  console.error('`npm ci` installs a fitting one for this project; run its scripts as `npm run <name>`.');
  process.exit(1);
}
