import type { ConversationEvent, VersionReport } from '../../api/client/index.ts';
import { writeJson } from '../output.ts';
import type { ClientContext, ConversationOptions } from '../run-command.ts';

export interface EventsOptions extends ConversationOptions {
  /** Id of an event. Only later events are printed. Absent: all kept events. */
  readonly after?: string;
  readonly follow?: boolean;
}

/** Prints the durable events of a conversation, one per line. */
export async function showEvents(
  { client, output }: ClientContext,
  id: string,
  { tenant, after = '0', follow = false, json }: EventsOptions,
): Promise<number> {
  let count = 0;
  for await (const event of client.events({ tenant, conversation: id }, { after, ...(!follow && { waitMs: 0 }) })) {
    count += 1;
    if (json) writeJson(output, event);
    else if (event.type === 'lost') output.note('(older events are no longer kept, so some may be missing here)');
    else output.line(`${event.id}  ${new Date(event.at).toISOString()}  ${describeEvent(event)}`);
  }
  if (count === 0) output.note(`no events${after === '0' ? ' within the last day' : ` after ${after}`}`);
  return 0;
}

function describeEvent(event: ConversationEvent): string {
  switch (event.type) {
    case 'turn_settled':
      return `turn ${event.turn} ${event.state}`;
    case 'turn_steered':
      return `message of turn ${event.turn} went into turn ${event.into} as message ${event.seq}`;
    case 'turn_waiting': {
      const calls = event.calls.map(
        ({ name, arguments: text, input = text, isCut }) => `${name}(${input}${isCut ? '…' : ''})`,
      );
      const which = calls.length === 0 ? '' : `: ${calls.join(', ')}`;
      return `turn ${event.turn} waits for ${event.for}, until ${new Date(event.until).toISOString()}${which}`;
    }
    case 'version_committed':
      return `version ${event.version} by ${event.cause}: ${describeVersion(event)}`;
    case 'pass_ended':
      return `pass ${event.passId} ended: ${event.outcome}`;
    case 'version_proposed':
      return `proposal ${event.proposal} of pass ${event.passId}: ${describeVersion(event)}`;
    case 'proposal_decided': {
      const decision = event.verdict === 'approve' ? 'approved' : 'rejected';
      // Encodes the reason as JSON, which keeps line breaks on one line.
      return `proposal ${event.proposal} ${decision}${event.reason === undefined ? '' : `: ${JSON.stringify(event.reason)}`}`;
    }
    case 'approval_refused':
      return `approval of compaction pass ${event.passId} could not be carried out: ${event.code}`;
    case 'unknown':
      return `unknown event ${JSON.stringify(event.name)} of a newer turnfold: ${JSON.stringify(event.fields)}`;
  }
}

function describeVersion({ strategy, reasons, archived, tokensBefore, tokensAfter }: VersionReport): string {
  const why = reasons.length === 0 ? '' : ` for ${reasons.join(', ')}`;
  return `${strategy}${why}, ${tokensBefore} -> ${tokensAfter} tokens, ${archived} messages archived`;
}
