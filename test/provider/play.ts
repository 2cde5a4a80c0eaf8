import { type Answer, completeAnswer, type ScriptedAnswer } from './answer.ts';
import type { Dialect, RenderedAnswer, ServerEvent } from './dialect.ts';
import { type ErrorName, type ErrorReply, type Fault, isErrorFault } from './fault.ts';
import type { Issued } from './issued.ts';
import { readText } from './json.ts';
import type { Refusal } from './refusal.ts';
import type { Outcome, ProviderRequest } from './script.ts';
import type { Sender } from './sender.ts';

const NOTHING: ScriptedAnswer = { text: '…' };
/** Number of events after which a stream is broken by default: after the first piece of content in every format. */
const MIDDLE = 5;

interface Stage {
  readonly dialect: Dialect;
  readonly request: ProviderRequest;
  readonly sender: Sender;
  readonly issued: Issued;
}

/** Sends the scripted response, streamed or not, as the request asked. */
export async function playOutcome(outcome: Outcome, stage: Stage): Promise<void> {
  if ('fault' in outcome) await playFault(outcome, stage);
  else await sendAnswer(render(outcome, stage), stage);
}

/** Sends a refusal with its HTTP status, or as the provider's stream event. */
export async function playRefusal(refusal: Refusal, { dialect, request, sender, issued }: Stage): Promise<void> {
  const reply = dialect.writeRefusal(refusal);
  if (!request.isStream || dialect.refusesInStream?.(refusal) !== true) return sender.sendError(reply);
  const { events } = render(NOTHING, { dialect, request, sender, issued });
  return sender.sendEvents([...events.slice(0, 2), ...dialect.writeStreamError(reply)]);
}

function render(script: ScriptedAnswer, { dialect, request, issued }: Stage): RenderedAnswer {
  const answer: Answer = completeAnswer(script, request.body, dialect.callPrefix);
  return dialect.render(answer, request.body, issued);
}

async function sendAnswer({ body, events }: RenderedAnswer, { request, sender }: Stage, delayMs = 0): Promise<void> {
  if (request.isStream) return sender.sendEvents(events, delayMs);
  await sender.pause(delayMs);
  return sender.sendJson(body);
}

async function playFault(fault: Fault, stage: Stage): Promise<void> {
  const { sender, request } = stage;
  if (isErrorFault(fault)) return sender.sendError(writeError(fault, stage));
  switch (fault.fault) {
    case 'raw':
      return sender.sendRaw(fault.answer);
    case 'garbage':
      return sender.sendGarbage(fault.as, request.isStream);
    case 'reset':
      return sender.drop();
    case 'hang':
      if (fault.answer !== undefined && request.isStream) {
        await sender.startEvents(takeEvents(fault.answer, stage, fault.afterEvents));
      }
      return sender.hang();
    case 'cut':
      return cut(fault, stage);
    case 'slow':
      return sendAnswer(render(fault.answer, stage), stage, fault.delayMs);
    case 'stream_error': {
      const error = writeError({ fault: fault.error }, stage);
      if (!request.isStream) return sender.sendError(error);
      const said = takeEvents(fault.answer, stage, fault.afterEvents);
      return sender.sendEvents([...said, ...stage.dialect.writeStreamError(error)]);
    }
  }
}

async function cut(fault: Extract<Fault, { fault: 'cut' }>, stage: Stage): Promise<void> {
  const { sender, request } = stage;
  const isOrderly = fault.isOrderly === true;
  if (request.isStream) await sender.startEvents(takeEvents(fault.answer, stage, fault.afterEvents));
  else await sender.sendHalf(render(fault.answer, stage).body, isOrderly);
  if (isOrderly) sender.end();
  else sender.drop();
}

function takeEvents(answer: ScriptedAnswer, stage: Stage, count = MIDDLE): readonly ServerEvent[] {
  return render(answer, stage).events.slice(0, count);
}

function writeError(fault: Extract<Fault, { fault: ErrorName }>, { dialect, request }: Stage): ErrorReply {
  const model = readText(request.body['model']);
  const { message, retryAfterMs } = fault;
  const detail = {
    model,
    ...(message !== undefined && { message }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
  const reply = dialect.writeError(fault.fault, detail);
  return retryAfterMs === undefined ? reply : { ...reply, headers: dialect.writeRetryAfter(retryAfterMs) };
}
