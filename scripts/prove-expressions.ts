/**
 * Proves that regular expressions of src take time linear in their input. `npm run expressions` proves new expressions,
 * and `npm run expressions -- --all` proves all again. Writes test/gates/linear-expressions.json if all are linear.
 */
import { writeFileSync } from 'node:fs';
import { findSlow, listExpressions, PROVEN_FILE, readProven } from '../test/gates/linear-expressions.ts';

const found = listExpressions();
const proven = new Set(process.argv.includes('--all') ? [] : readProven());
const slow = await findSlow([...found].flatMap(([name, expression]) => (proven.has(name) ? [] : [expression])));
if (slow.length === 0) writeFileSync(PROVEN_FILE, `${JSON.stringify([...found.keys()].toSorted(), undefined, 2)}\n`);
for (const line of slow) console.error(line);
process.exitCode = slow.length === 0 ? 0 : 1;
