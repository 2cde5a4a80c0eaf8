import { showContext, showVersions } from '../commands/show.ts';
import type { CommandContext } from '../with-client.ts';

type Look = (context: CommandContext, conversation: string) => Promise<unknown>;

interface InsideCommand {
  readonly name: string;
  readonly about: string;
  readonly look: Look;
}

const PASS_WAIT_MS = 20_000;
const LOOK_MS = 50;
const READING = { tenant: '_' };

export const HELP = '/help';
export const LEAVE = '/quit';

/** What may be typed at the prompt of `dev` besides messages. */
const COMMANDS: readonly InsideCommand[] = [
  { name: HELP, about: 'lists these commands', look: showHelp },
  {
    name: '/show',
    about: 'what the agent still knows',
    look: (context, conversation) => showContext(context, conversation, READING),
  },
  {
    name: '/versions',
    about: 'the versions of its context',
    look: (context, conversation) => showVersions(context, conversation, READING),
  },
  { name: '/compact', about: 'asks for a pass now', look: compact },
];

export function findInside(line: string): Look | undefined {
  return COMMANDS.find(({ name }) => name === line)?.look;
}

async function showHelp({ output }: CommandContext): Promise<void> {
  const left = 'ends; so does Ctrl-D, or Ctrl-C twice';
  for (const { name, about } of [...COMMANDS, { name: LEAVE, about: left }]) {
    output.line(`${name.padEnd(10)}  ${about}`);
  }
  output.line('Ctrl-C cancels the turn that is at work. Anything else is a message to the agent.');
}

/** Asks for a pass and tells what came of it. */
async function compact({ client, output }: CommandContext, conversation: string): Promise<void> {
  const before = (await client.versions(conversation)).length;
  const passId = await client.compact(conversation);
  const until = Date.now() + PASS_WAIT_MS;
  while ((await client.describe(conversation)).passId === passId && Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  const versions = await client.versions(conversation);
  const newest = versions.at(-1);
  if (newest === undefined || versions.length <= before) output.line('no new version: there is nothing to gain');
  else output.line(`version ${newest.number}: ${newest.tokensBefore} → ${newest.tokensAfter} tokens`);
}
