import { expect, it } from 'vitest';
import { listChanges } from '../../../src/summarize/progress/file-changes.ts';

function changesOf(name: string, given: Readonly<Record<string, unknown>>, hasFailed = false): string[] {
  const call = { id: 'c', name, arguments: JSON.stringify(given) };
  return listChanges(call, hasFailed).map(({ path, by }) => `${path} by ${by}`);
}

it.each([
  ["sed -i 's/a > b/c/' src/a.py", ['src/a.py by sed -i']],
  ["sed -n '1,5p' src/a.py", []],
  ["cd src && sed -i.bak -e 's/x/y/' a.py b.py; make", ['a.py by sed -i', 'b.py by sed -i']],
  ["cat <<'EOF' > run.py\nif a > b: print('x > y')\nEOF\npython3 run.py", ['run.py by cat >']],
  ['cat >> notes.md <<EOF\nhello\nEOF', ['notes.md by cat >']],
  ['make 2>&1 | tee -a build.log', ['build.log by tee']],
  ['make 2> err.txt > /dev/null', []],
  ['echo "a -> b" >out.txt', ['out.txt by echo >']],
  ['cp a.ts b.ts && mv b.ts c.ts && rm -f d.ts', ['b.ts by cp', 'c.ts by mv', 'd.ts by rm']],
  ['git checkout src/a.py', ['src/a.py by git checkout']],
  ['git checkout main', []],
  ['grep -n "x > y" a.py', []],
  ['python3 -c "print(1 > 0)"', []],
])('the command %j changes the files %j', (command, changed) => {
  expect(changesOf('bash', { command })).toEqual(changed);
});

it('an editing tool changes the file that its path names, unless the call failed', () => {
  const given = { file_path: 'src/a.ts', old_string: 'a', new_string: 'b' };
  expect(changesOf('Edit', given)).toEqual(['src/a.ts by Edit']);
  expect(changesOf('Edit', given, true)).toEqual([]);
  expect(changesOf('Read', { file_path: 'src/a.ts' })).toEqual([]);
});

it('a tool that gets a path and a content changes the file, whatever its name is', () => {
  expect(changesOf('fs.put', { path: 'a.md', content: 'Hi' })).toEqual(['a.md by fs.put']);
});

it('a patch changes the files that it names', () => {
  const input = '*** Begin Patch\n*** Update File: src/m3.rs\n-a\n+b\n*** Add File: src/m4.rs\n+c\n*** End Patch';
  expect(changesOf('apply_patch', { input })).toEqual(['src/m3.rs by apply_patch', 'src/m4.rs by apply_patch']);
});

it('a list of tasks in a file of its own is no changed file', () => {
  expect(changesOf('write_todos', { file: 'todo.md', content: 'x' })).toEqual([]);
});
