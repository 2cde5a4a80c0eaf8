/**
 * Gate that checks the limits in scripts/ceilings.ts for every text file of the project. The linter checks default
 * exports, environment access and `any`. The compiler checks enums.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { checkLines, checkLua, checkName, checkTypeScript, type ProjectFile, type Violation } from './ceilings.ts';

/** `.git` is a folder in a clone, but in a worktree it is a file that contains a path of this machine. */
const skipped = /^(node_modules|dist|coverage|\.git|\.cache)$/;
const skippedFile = /^(package-lock\.json|test\/fixtures\/.*)$/;
const codeRoom = /^(src|inspector|test|bench|scripts|deploy)\/.*\.(tsx?|lua)$/;

function listFiles(folder = ''): string[] {
  return readdirSync(folder === '' ? '.' : folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}${entry.name}`;
    if (skipped.test(entry.name)) return [];
    if (entry.isDirectory()) return listFiles(`${path}/`);
    return entry.isFile() && !skippedFile.test(path) ? [path] : [];
  });
}

function readText(path: string): ProjectFile[] {
  const text = readFileSync(path, 'utf8');
  return text.includes('\0') ? [] : [{ path, text }];
}

const files = listFiles().flatMap(readText);
const code = files.filter(({ path }) => codeRoom.test(path));
const typescript = code.filter(({ path }) => /^\.tsx?$/.test(extname(path))).map(checkTypeScript);
const scripts = code.filter(({ path }) => extname(path) === '.lua');

const violations: Violation[] = [
  ...files.flatMap(checkLines),
  ...code.flatMap(checkName),
  ...scripts.flatMap(checkLua),
  ...typescript.flatMap((checked) => checked.violations),
];
const counts = {
  'text files': files.length,
  'TypeScript files': typescript.length,
  functions: typescript.reduce((sum, checked) => sum + checked.functions, 0),
  'Lua scripts': scripts.length,
};
const unchecked = Object.entries(counts).filter(([, count]) => count === 0);

for (const { path, line, message } of violations) console.error(`${path}:${line} ${message}`);
for (const [kind] of unchecked) console.error(`nothing-checked: no ${kind} found`);
const summary = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
console.log(`ceilings: ${summary.join(', ')}, ${violations.length} violations`);
process.exitCode = violations.length + unchecked.length === 0 ? 0 : 1;
