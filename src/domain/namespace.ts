/** An application without a prefix has the same key names as in releases without prefixes. */
export const DEFAULT_PREFIX = 'tf';

export const PREFIX_FORM =
  'must be 1 to 64 characters of A-Z, a-z, 0-9, _, . and -. The first is a letter or a digit. A prefix must not begin with tf or tq, because names of an application without a prefix do';

export function isPrefix(text: string): boolean {
  return text === DEFAULT_PREFIX || (/^[A-Za-z0-9][\w.-]{0,63}$/.test(text) && !/^t[fq]/.test(text));
}

/** `tf` for the keys and channels of the store, `tq` for the queues. */
type Root = 'tf' | 'tq';

/**
 * The text in braces decides the Cluster slot. No tag of one prefix begins like a tag of another, because of the slash.
 */
export function hashTag(prefix: string, root: Root, shard: number | '' = ''): string {
  return `{${spaceOf(prefix)}${root}${shard}}`;
}

export interface NamespaceRules {
  /** Patterns for a Redis ACL: keys of the store (`tf`) and of the queues (`tq`). With a prefix, both are equal. */
  readonly keys: Readonly<Record<Root, string>>;
  readonly channels: string;
}

export function rulesOf(prefix: string): NamespaceRules {
  const space = spaceOf(prefix);
  const pattern = (root: Root): string => (space === '' ? `{${root}*` : `{${space}*`);
  return { keys: { tf: `~${pattern('tf')}`, tq: `~${pattern('tq')}` }, channels: `&${pattern('tf')}` };
}

/** ACL rules for the prefix of the first turnfold key in a list of key names. */
export function rulesFor(names: readonly unknown[]): NamespaceRules {
  const prefixes = names.flatMap((name) => {
    const [, prefix = DEFAULT_PREFIX, isOurs] = /^\{(?:([^{}/]+)\/)?(t[fq])\d*\}/.exec(String(name)) ?? [];
    return isOurs === undefined ? [] : [prefix];
  });
  return rulesOf(prefixes[0] ?? DEFAULT_PREFIX);
}

function spaceOf(prefix: string): string {
  return prefix === DEFAULT_PREFIX ? '' : `${prefix}/`;
}
