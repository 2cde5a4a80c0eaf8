import type { ToolCall } from '../../../../src/domain/message.ts';
import { readLeaves } from '../../../../src/evaluation/quality/identifiers.ts';
import type { SourceLog } from './log.ts';
import { gradeAll, gradeOne, type Topic } from './topic.ts';

const EDITING_TOOL = /edit|write|create_file|str_replace|apply_patch|update_file|insert|patch/i;
const LIST_TOOL = /todo/i;
const PATH_KEY = /path|file/i;
const PATH = /[\w-]\.\w{1,6}$|\//;
const MAX_PATH_CHARS = 200;
const COMMAND_KEY = /command|cmd|script/i;
/** Commands of a shell that write a file: `cat > file`, `tee file`, `sed -i … file`. */
const WRITING_COMMAND =
  /(?:cat\s*(?:<<\s*['"]?\w+['"]?\s*)?>{1,2}\s*|tee\s+(?:-a\s+)?|sed\s+-i[^\n|;&]*?\s)([\w./~-]+\.\w{1,6})/g;

/** The files that the agent changed, and which it changed last. */
export function findEdits({ messages }: SourceLog): Topic | undefined {
  const edits = messages.flatMap(({ toolCalls = [] }) => toolCalls.flatMap(listEdited)).map(nameOf);
  const last = edits.at(-1);
  if (last === undefined) return undefined;
  const names = [...new Set(edits)];
  return {
    grade: ({ text }) => {
      const places = names.map((name) => ({ name, at: findEditIn(text, name) }));
      const newest = places.reduce((one, other) => (other.at > one.at ? other : one));
      const lastEdit = newest.at === -1 ? undefined : newest.name;
      return {
        edited: gradeAll(places.map(({ at }) => (at === -1 ? undefined : 'right'))),
        lastEdit: gradeOne(lastEdit === last, lastEdit !== undefined && lastEdit !== last),
      };
    },
    asked: [
      {
        kinds: ['edited'],
        text: 'Which files did the assistant change? Write their names.',
        grade: (answer) => gradeAll(names.map((name) => (answer.includes(name) ? 'right' : undefined))),
      },
      {
        kinds: ['lastEdit'],
        text: 'Which file did the assistant change last? Write its name.',
        grade: (answer) => gradeOne(answer.includes(last), answer.trim() !== '' && !answer.includes(last)),
      },
    ],
  };
}

function listEdited(call: ToolCall): string[] {
  const leaves = readLeaves(call);
  if (EDITING_TOOL.test(call.name) && !LIST_TOOL.test(call.name)) {
    const isPath = (value: string): boolean =>
      value.length < MAX_PATH_CHARS && !value.includes('\n') && PATH.test(value);
    const path = leaves.find(({ key, value }) => PATH_KEY.test(key) && isPath(value));
    if (path !== undefined) return [path.value];
    return [];
  }
  return leaves
    .filter(({ key }) => COMMAND_KEY.test(key))
    .flatMap(({ value }) => [...value.matchAll(WRITING_COMMAND)].flatMap(([, path]) => path ?? []));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

const EDIT_WORDS =
  /edit|write|writ|wrote|creat|replac|updat|modif|patch|cat ?<<|cat ?>|sed -i|tee |<<|added|fixed|changed|implement|refactor/i;
const REACH_BEFORE = 200;
const REACH_BEHIND = 60;

/** Last place where a text names the file as changed. -1 if it does not. */
function findEditIn(text: string, name: string): number {
  for (let at = text.lastIndexOf(name); at !== -1; at = at === 0 ? -1 : text.lastIndexOf(name, at - 1)) {
    const lineStart = text.lastIndexOf('\n', at);
    const near = text.slice(Math.max(0, lineStart, at - REACH_BEFORE), at + name.length + REACH_BEHIND);
    if (EDIT_WORDS.test(near)) return at;
  }
  return -1;
}
