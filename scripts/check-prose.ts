/**
 * Gate that checks the rules in scripts/prose-rules.ts for every comment, message text, test title and documentation
 * page.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { checkSentence, splitSentences } from './prose-rules.ts';
import { type Prose, readLua, readMarkdown, readTypeScript } from './prose-text.ts';

const FOLDERS = ['src', 'inspector', 'test', 'bench', 'scripts', 'deploy', 'docs', 'examples'];
/** Files that quote the forbidden phrases, and packages of others in a folder of the project. */
const EXEMPT = /^(?:scripts\/prose-rules\.ts|test\/gates\/prose\.test\.ts)$|\/node_modules\//;

function listFiles(): string[] {
  const inFolders = FOLDERS.flatMap((folder) =>
    readdirSync('.').includes(folder)
      ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => `${folder}/${path}`)
      : [],
  );
  return [...inFolders, ...readdirSync('.')].filter((path) => /\.(?:tsx?|lua|md)$/.test(path) && !EXEMPT.test(path));
}

function readProse(path: string, text: string): Prose[] {
  if (path.endsWith('.md')) return readMarkdown(text);
  return path.endsWith('.lua') ? readLua(text) : readTypeScript(path, text);
}

const chosen = process.argv.slice(2);
const files = listFiles().filter((path) => chosen.length === 0 || chosen.some((start) => path.startsWith(start)));
let sentences = 0;
let violations = 0;
for (const path of files) {
  for (const { line, text } of readProse(path, readFileSync(path, 'utf8'))) {
    for (const sentence of splitSentences(text)) {
      sentences += 1;
      for (const { rule, message } of checkSentence(sentence)) {
        violations += 1;
        console.error(`${path}:${line} ${rule}: ${message}\n    ${sentence.slice(0, 160)}`);
      }
    }
  }
}
if (sentences === 0) console.error('nothing-checked: no sentence found');
console.log(`prose: ${sentences} sentences in ${files.length} files, ${violations} violations`);
process.exitCode = violations === 0 && sentences > 0 ? 0 : 1;
