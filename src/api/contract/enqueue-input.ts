import { z } from 'zod';
import { boundedList } from '../../domain/bounded-schemas.ts';
import { ownerSchema, titleSchema } from '../../domain/conversation-about.ts';
import { idSchema } from '../../domain/ids.ts';
import { jsonSchema } from '../../domain/message.ts';
import { encodeBytes, readParts } from '../../domain/parts.ts';
import { metadataSchema, ON_BUSY_VALUES, type OnBusy, type TurnMetadata } from '../../domain/turn.ts';
import type { TurnContext } from '../../domain/turn-context.ts';
import { type TurnOwn, turnOwnFields } from '../../domain/turn-own.ts';
import { conversationFields } from './names.ts';

/** Providers accept fewer images and files in one request. */
const MAX_INPUT_PARTS = 1_000;

/** Part of an input. Parts in the formats of Anthropic and OpenAI are accepted, too. */
export type InputPart = WebPart | StoredPart | ReferencedPart | ForeignPart;

export interface ForeignPart {
  /** Type of the part in the format of Anthropic or OpenAI, such as `image_url` or `document`. */
  readonly type: string;
  readonly [field: string]: unknown;
}

type NamedContent = {
  /** `image`, or `file` for a PDF or a text file. */
  readonly type: 'image' | 'file';
  /** Name of the file, which the model may see. */
  readonly name?: string;
};

type TypedContent = NamedContent & {
  /** Type of the content, such as `image/png` or `application/pdf`. */
  readonly mediaType: string;
};

export interface WebPart extends NamedContent {
  /** Address of the content, http or https. A file behind an address is a PDF. */
  readonly url: string;
}

/** Image or file whose bytes are stored with the message. */
export interface StoredPart extends TypedContent {
  /** The bytes, as such or as base64. */
  readonly data: Uint8Array | string;
}

/** Image or file of which turnfold stores only the name. */
export interface ReferencedPart extends TypedContent {
  /** Name of the content for `loadContent` of the agent. */
  readonly reference: string;
  /** Size of the content in bytes (0). */
  readonly bytes?: number;
}

const isShortList = (value: unknown): boolean => Array.isArray(value) && value.length <= MAX_INPUT_PARTS;

const inputPartsSchema = z
  .unknown()
  .refine(isShortList, `expected a list of at most ${MAX_INPUT_PARTS} images and files`)
  .transform((parts): unknown => (parts as readonly unknown[]).map(encodeBytes))
  .pipe(jsonSchema)
  .transform((parts) => parts as InputPart[])
  .refine(
    (parts) => readParts({ content: '', parts }).every(({ kind }) => kind !== 'text' && kind !== 'other'),
    'expected images and files, such as {type: "image", url} or {type: "file", data, mediaType}. Texts belong in `input`',
  )
  .meta({
    description:
      'Images, PDFs and text files, as {type, url}, {type, data, mediaType} or {type, reference, mediaType}. In JSON, `data` is base64.',
  });

/** Ten years. A longer delay is a mistake, and `Date` cannot represent much larger times. */
const DELAY_MOST_MS = 315_360_000_000;

const TURN_TOKENS_MOST = 1_000_000_000;

/** Treatments of the turn that `busyTurn` names. */
const NAMING: ReadonlySet<OnBusy | undefined> = new Set(['interrupt', 'rollback', 'steer']);

export const enqueueSchema = z
  .strictObject({
    ...conversationFields,
    agent: idSchema.describe('Name of the agent that answers. Every turn of a conversation has the same agent.'),
    input: z.string().min(1).describe('Text of the user message that starts the turn, at most 1 MiB.'),
    parts: inputPartsSchema.optional(),
    turn: idSchema.optional().describe('Id of the turn, which makes the call repeatable.'),
    context: z
      .unknown()
      .optional()
      .describe("JSON object of at most 16 KiB for the agent's tools and system prompt. The model never sees it."),
    ...turnOwnFields,
    metadata: metadataSchema.optional().describe('Names and values that are shown with the turn. No model reads them.'),
    owner: ownerSchema.optional().describe('Owner of a new conversation. A conversation of another owner is refused.'),
    title: titleSchema
      .optional()
      .describe('Title of a new conversation. Absent: the first words of the input. An existing title stays.'),
    delayMs: z.number().int().min(0).max(DELAY_MOST_MS).optional().describe('Time until the turn may start, in ms.'),
    priority: z
      .number()
      .int()
      .min(1)
      .max(2_097_151)
      .optional()
      .describe('Priority of the conversation in the queue of turns: 1 is first. Not possible with a delay.'),
    maxQueuedTurns: z
      .number()
      .int()
      .min(1)
      .optional()
      .describe(
        'The turn is refused with mailbox_full if this many turns of the conversation are queued, running or waiting.',
      ),
    onBusy: z
      .enum(ON_BUSY_VALUES)
      .optional()
      .describe(
        'Treatment of the turn if another turn of the conversation is queued, running or waiting. Only enqueue is possible with a delay.',
      ),
    busyTurn: idSchema
      .optional()
      .describe(
        'Turn for which interrupt, rollback or steer is meant. If another turn is first, the new turn is enqueued.',
      ),
    deadlineMs: z
      .number()
      .int()
      .min(1)
      .max(DELAY_MOST_MS)
      .optional()
      .describe('Time in ms in which the turn must be settled. Time in the queue counts. After it, the turn fails.'),
    maxTurnTokens: z
      .number()
      .int()
      .min(1)
      .max(TURN_TOKENS_MOST)
      .optional()
      .describe('Maximum tokens of all model calls of the turn together.'),
  })
  .refine(({ delayMs = 0, priority }) => delayMs === 0 || priority === undefined, {
    path: ['priority'],
    message: 'a turn with a delay cannot have a priority',
  })
  .refine(({ delayMs = 0, onBusy = 'enqueue' }) => delayMs === 0 || onBusy === 'enqueue', {
    path: ['onBusy'],
    message: 'a turn with a delay is always enqueued',
  })
  .refine(({ onBusy, busyTurn }) => busyTurn === undefined || NAMING.has(onBusy), {
    path: ['busyTurn'],
    message: 'expected only with interrupt, rollback or steer',
  });

/** Encoding more turns at once would block the event loop for too long. */
const MOST_TURNS = 500;

/** Turns are checked one by one, so that an invalid turn does not stop the others. */
export const turnListSchema = boundedList(z.unknown(), MOST_TURNS);

/**
 * A turn that steers goes into the running turn, which keeps its own tools, instructions and form of the answer.
 */
export interface EnqueueInput extends TurnOwn {
  readonly conversation: string;
  readonly tenant?: string | undefined;
  /** Name of the agent that answers. Every turn of a conversation has the same agent. */
  readonly agent: string;
  /** Text of the user message that starts the turn. */
  readonly input: string;
  /** Images, PDFs and text files behind the text. A message of more than 1 MiB needs references to them. */
  readonly parts?: readonly InputPart[] | undefined;
  /** Id that makes the call repeatable (a new ULID). A repeated call returns the turn's current state. */
  readonly turn?: string | undefined;
  /** JSON object of at most 16 KiB for the agent's tools and system prompt. It is erased when the turn settles. */
  readonly context?: TurnContext | undefined;
  /** Names and values that are shown with the turn, at most 16, of 64 and 512 characters. No model reads them. */
  readonly metadata?: TurnMetadata | undefined;
  /** Owner of a new conversation (none). With a conversation of another owner, the call fails with `conflict`. */
  readonly owner?: string | undefined;
  /** Title of a new conversation, at most 200 characters (the first words of `input`). An existing title stays. */
  readonly title?: string | undefined;
  /** Time until the turn may start, in ms (0). */
  readonly delayMs?: number | undefined;
  /** Priority of the conversation in the queue, 1 is first. It counts only if no other turn is queued. */
  readonly priority?: number | undefined;
  /** The turn is refused if this many turns are queued, running or waiting (1,000). Scheduled turns do not count. */
  readonly maxQueuedTurns?: number | undefined;
  /**
   * Treatment of the turn if another turn is queued, running or waiting (`enqueue`). `enqueue`: the new turn runs after
   * all others. `reject`: the call fails with `conversation_busy`. `interrupt`: the first turn is canceled, and the new
   * turn takes its place. `rollback`: as `interrupt`, but the messages of the canceled turn leave the context. `steer`:
   * the message goes into the running turn before its next model call, and both turns end with the same answer.
   */
  readonly onBusy?: OnBusy | undefined;
  /** Turn for which `interrupt`, `rollback` or `steer` is meant (any). If another is first, the new one is enqueued. */
  readonly busyTurn?: string | undefined;
  /** Time from acceptance or due time after which the turn fails with `turn_timeout`, in ms. */
  readonly deadlineMs?: number | undefined;
  /** Maximum tokens of all model calls, in and out. Before a call exceeds them, the turn fails with `token_limit`. */
  readonly maxTurnTokens?: number | undefined;
}
