import { DEFAULT_TENANT } from '../../domain/ids.ts';
import { showContext, showVersions } from '../commands/show.ts';
import type { ClientContext } from '../run-command.ts';

type RunSlashCommand = (context: ClientContext, conversation: string) => Promise<unknown>;

interface SlashCommand {
  readonly name: string;
  readonly about: string;
  readonly run: RunSlashCommand;
}

const PASS_WAIT_MS = 20_000;
const POLL_MS = 50;
const OPTIONS = { tenant: DEFAULT_TENANT };

export const HELP = '/help';
export const LEAVE = '/quit';

const COMMANDS: readonly SlashCommand[] = [
  { name: HELP, about: 'list these commands', run: showHelp },
  {
    name: '/show',
    about: 'show the context that the model would get',
    run: (context, conversation) => showContext(context, conversation, OPTIONS),
  },
  {
    name: '/versions',
    about: 'list the versions of the context',
    run: (context, conversation) => showVersions(context, conversation, OPTIONS),
  },
  { name: '/compact', about: 'run a compaction pass now', run: compact },
];

export function findSlashCommand(line: string): RunSlashCommand | undefined {
  return COMMANDS.find(({ name }) => name === line)?.run;
}

async function showHelp({ output }: ClientContext): Promise<void> {
  for (const { name, about } of [...COMMANDS, { name: LEAVE, about: 'quit (also Ctrl-D, or Ctrl-C twice)' }]) {
    output.line(`${name.padEnd(10)}  ${about}`);
  }
  output.line('Ctrl-C cancels the running turn. Any other text is a message to the agent.');
}

async function compact({ client, output }: ClientContext, conversation: string): Promise<void> {
  const before = (await client.versions(conversation)).length;
  const passId = await client.compact(conversation);
  const until = Date.now() + PASS_WAIT_MS;
  while ((await client.describe(conversation)).passId === passId && Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const versions = await client.versions(conversation);
  const newest = versions.at(-1);
  if (newest === undefined || versions.length <= before)
    output.line(`no new version within ${PASS_WAIT_MS / 1_000} s: the pass changed nothing, failed or still runs`);
  else output.line(`version ${newest.number}: ${newest.tokensBefore} → ${newest.tokensAfter} tokens`);
}
