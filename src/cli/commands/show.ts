import type { VersionChange } from '../../compaction/diff.ts';
import type { Version } from '../../domain/version.ts';
import { writeJson, writeResult } from '../output.ts';
import type { ClientContext, ConversationOptions } from '../run-command.ts';
import { formatTable, writeTable } from '../table.ts';

const PREVIEW_CHARACTERS = 160;

interface ContextOptions extends ConversationOptions {
  /** Version to show. Absent: the live version. */
  readonly version?: number;
  readonly full?: boolean;
}

export async function showContext(
  { client, output }: ClientContext,
  id: string,
  options: ContextOptions,
): Promise<number> {
  const name = { tenant: options.tenant, conversation: id };
  const view = options.version === undefined ? await client.context(name) : await client.show(name, options.version);
  if (options.json) {
    writeJson(output, view);
    return 0;
  }
  const { conversation, version, head, tokens: total, agentSnapshot, items } = view;
  const counted = `${total} tokens in ${items.length} messages, system prompt and tools not counted`;
  output.line(`${conversation}  version ${version}, head ${head}, ${counted}`);
  const print = (range: string, role: string, tokens: string, text: string): void => {
    const columns = [range.padStart(9), role.padEnd(10), tokens.padStart(6)];
    output.line(`${columns.join('  ')}  ${options.full ? text : preview(text)}`.trimEnd());
  };
  // Redis stores system prompt and pinned texts without their token counts.
  const { system = '', pins = [] } = agentSnapshot ?? {};
  if (system !== '') print('', 'system', '', system);
  for (const pin of pins) print('', 'pin', '', pin);
  for (const { from, to, tokens, message } of items) {
    const range = from === to ? String(from) : `${from}-${to}`;
    const calls = (message.toolCalls ?? []).map((call) => `${call.name}(${call.arguments})`).join(' ');
    const text = [message.content, calls].filter((part) => part !== '').join(' ');
    print(range, message.role, String(tokens), text);
  }
  return 0;
}

export async function showVersions(
  { client, output }: ClientContext,
  id: string,
  options: ConversationOptions,
): Promise<number> {
  const versions = await client.versions({ tenant: options.tenant, conversation: id });
  if (options.json) for (const version of versions) writeJson(output, version);
  else if (versions.length === 0) output.line('no version yet: the context is the whole log');
  else writeTable(output, describeVersions(versions));
  return 0;
}

/** Shows changes between two versions. Version 0 is the whole log. */
export async function showDiff(
  { client, output }: ClientContext,
  ...[id, from, to, { tenant, json }]: [string, number, number, ConversationOptions]
): Promise<number> {
  const name = { tenant, conversation: id };
  const changes = await client.diff(name, from, to);
  const same = `${id}  versions ${from} and ${to} have the same context`;
  const lines = changes.length === 0 ? [same] : changes.map(describeChange);
  writeResult(output, json, { ...name, from, to, changes }, ...lines);
  return 0;
}

function describeChange({ from, to, before, after }: VersionChange): string {
  const range = from === to ? String(from) : `${from}-${to}`;
  return `${range.padStart(9)}  ${before.padEnd(10)}  → ${after}`;
}

function preview(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= PREVIEW_CHARACTERS ? line : `${line.slice(0, PREVIEW_CHARACTERS - 1).toWellFormed()}…`;
}

const HEADER = ['version', 'strategy', 'reasons', 'archived', 'tokens before → after', 'took', 'notes'];

/** Lists versions as a table. The column of notes is left out if it is empty. */
export function describeVersions(versions: readonly Version[]): string[] {
  const rows = versions.map((version) => [
    String(version.number),
    version.strategy,
    version.reasons.join(', '),
    String(version.archived),
    `${version.tokensBefore} → ${version.tokensAfter}`,
    `${version.durationMs} ms`,
    [...version.explained, ...(version.floorRelaxed ? ['floor_relaxed'] : [])].join(', '),
  ]);
  const table = [HEADER, ...rows];
  const isNoted = rows.some((row) => row.at(-1) !== '');
  return formatTable(isNoted ? table : table.map((row) => row.slice(0, -1)));
}
