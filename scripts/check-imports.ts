/**
 * Gate that checks the import directions of src/ and inspector/ (scripts/rooms.ts) with dependency-cruiser.
 *
 * If dependency-cruiser does not know the installed TypeScript (7 and later), it reads no modules and still reports "no
 * violations". So this script compares the modules that were read with the existing files. No module at all is a
 * failure.
 */
import { existsSync, readdirSync } from 'node:fs';
import { cruise, type ICruiseResult } from 'dependency-cruiser';
import { isInARoom, rules } from './rooms.ts';

const FOLDERS = ['src', 'inspector/src'].filter((folder) => existsSync(folder));
const CODE = /\.tsx?$/;

async function cruiseSources(): Promise<ICruiseResult> {
  const { output } = await cruise(
    FOLDERS,
    {
      validate: true,
      ruleSet: { forbidden: [...rules] },
      tsPreCompilationDeps: true, // check type-only imports as well
      doNotFollow: { path: 'node_modules' },
    },
    { exportsFields: ['exports'], conditionNames: ['types', 'import', 'node', 'default'] },
  );
  if (typeof output === 'string') throw new Error(`dependency-cruiser answered text: ${output}`);
  return output;
}

function listSourceFiles(): string[] {
  return FOLDERS.flatMap((folder) => {
    const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    return entries.filter((entry) => CODE.test(entry)).map((entry) => `${folder}/${entry.replaceAll('\\', '/')}`);
  });
}

function findViolations(result: ICruiseResult, files: readonly string[]): string[] {
  const comments = new Map(rules.map((rule) => [rule.name, rule.comment]));
  const sources = new Set(result.modules.map((module) => module.source));
  const unread = files.filter((file) => !sources.has(file));
  return [
    ...result.summary.violations.map(
      ({ rule, from, to }) => `${from} → ${to}: ${rule.name} (${comments.get(rule.name)})`,
    ),
    ...files
      .filter((file) => file.startsWith('src/') && !isInARoom(file))
      .map((file) => `${file}: no-room (scripts/rooms.ts does not know it)`),
    ...unread.map((file) => `${file}: unread (dependency-cruiser did not read it)`),
    ...(files.length === 0 ? ['src: nothing-checked (no .ts file there)'] : []),
  ];
}

const files = listSourceFiles();
const result = await cruiseSources();
const modules = result.modules.filter(({ source }) => /^(?:src|inspector)\//.test(source) && CODE.test(source));
const imports = modules.reduce((sum, module) => sum + module.dependencies.length, 0);
const violations = findViolations(result, files);

for (const violation of violations) console.error(violation);
console.log(
  `imports: ${modules.length} modules of ${files.length} files, ${imports} imports, ${violations.length} violations`,
);
process.exitCode = violations.length === 0 && modules.length === files.length ? 0 : 1;
