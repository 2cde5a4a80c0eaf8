import { z } from 'zod';

/** Kinds of blocks that rules look into, each with what they need. `unknown` where a rule says what it has to be. */
const cacheMark = { cache_control: z.unknown().optional() };
const textSchema = z.object({ type: z.literal('text'), text: z.string(), ...cacheMark });
const toolUseSchema = z.object({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string(),
  input: z.unknown().optional(),
  ...cacheMark,
});
const toolResultSchema = z.object({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: z.union([z.string(), z.array(z.unknown())]).optional(),
  is_error: z.unknown().optional(),
  ...cacheMark,
});
const thinkingSchema = z.object({
  type: z.literal('thinking'),
  thinking: z.unknown().optional(),
  signature: z.unknown().optional(),
  ...cacheMark,
});
const redactedThinkingSchema = z.object({
  type: z.literal('redacted_thinking'),
  data: z.unknown().optional(),
  ...cacheMark,
});
const compactionSchema = z.object({ type: z.literal('compaction'), content: z.unknown().optional(), ...cacheMark });

const knownSchema = z.discriminatedUnion('type', [
  textSchema,
  toolUseSchema,
  toolResultSchema,
  thinkingSchema,
  redactedThinkingSchema,
  compactionSchema,
]);

/** Any other kind: pictures, documents, the provider's own tools and whatever comes. Kinds are not ours to close. */
const otherSchema = z.object({
  type: z.string(),
  id: z.string().optional(),
  tool_use_id: z.string().optional(),
  ...cacheMark,
});

type KnownBlock = z.infer<typeof knownSchema>;

/** A kind that is not looked into, under one name, so that `type` tells all kinds apart. */
export interface OtherBlock extends Omit<z.infer<typeof otherSchema>, 'type'> {
  readonly type: 'other';
  readonly kind: string;
}

export type Block = KnownBlock | OtherBlock;

const KNOWN_KINDS: ReadonlySet<unknown> = new Set<KnownBlock['type']>([
  'text',
  'tool_use',
  'tool_result',
  'thinking',
  'redacted_thinking',
  'compaction',
]);

export function isMarked({ cache_control }: { readonly cache_control?: unknown }): boolean {
  return cache_control !== undefined && cache_control !== null;
}

/** @returns undefined where it is no block, or not of the kind that it says */
export function readBlock(value: unknown): Block | undefined {
  if (isKnownKind(value)) return knownSchema.safeParse(value).data;
  const { type: kind, ...rest } = otherSchema.safeParse(value).data ?? {};
  return kind === undefined ? undefined : { type: 'other', kind, ...rest };
}

function isKnownKind(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'type' in value && KNOWN_KINDS.has(value.type);
}
