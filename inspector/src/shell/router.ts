import { computed, signal } from '@preact/signals';

const hash = signal(location.hash);
addEventListener('hashchange', () => {
  hash.value = location.hash;
});

/** Parts of the hash between slashes, decoded: `#/c/shop/v/3` is `['c', 'shop', 'v', '3']`. */
export const place = computed(() => {
  const [path = ''] = hash.value.replace(/^#/, '').split('?');
  return path
    .split('/')
    .filter((part) => part !== '')
    .map(decodePart);
});

export const settings = computed(() => new URLSearchParams(hash.value.split('?')[1] ?? ''));

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function linkTo(...parts: readonly (string | number)[]): string {
  return `#/${parts.map((part) => encodeURIComponent(part)).join('/')}`;
}

export function linkToMessage(conversation: string, seq: number): string {
  return `${linkTo('c', conversation)}?seq=${seq}`;
}

/** Changes settings in the hash without a new entry in the browser's history. An empty value removes a setting. */
export function replaceSettings(changes: Readonly<Record<string, string>>): void {
  const next = new URLSearchParams(settings.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') next.delete(name);
    else next.set(name, value);
  }
  const [path = '#/'] = (location.hash === '' ? '#/' : location.hash).split('?');
  const text = next.toString();
  history.replaceState(null, '', text === '' ? path : `${path}?${text}`);
  hash.value = location.hash;
}

/** Names of a pattern's parameters. `/c/:conversation/v/:version` has `conversation` and `version`. */
export type ParamsOf<Pattern extends string> = Pattern extends `${string}:${infer Name}/${infer Rest}`
  ? Record<Name, string> & ParamsOf<Rest>
  : Pattern extends `${string}:${infer Name}`
    ? Record<Name, string>
    : object;

export function matchPlace(pattern: string, parts: readonly string[]): Record<string, string> | undefined {
  const wanted = pattern.split('/').filter((part) => part !== '');
  if (wanted.length !== parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const given = parts[index] ?? '';
    if (part.startsWith(':')) params[part.slice(1)] = given;
    else if (part !== given) return undefined;
  }
  return params;
}
