export const REDACTED = '[redacted]';

const SECRET_KEYS = [
  'apiKey',
  'api_key',
  'x-api-key',
  'authorization',
  'Authorization',
  'cookie',
  'password',
  'secret',
  'accessToken',
] as const;

/**
 * Paths for pino's `redact`: the top of a line and two levels below, such as `provider.headers.cookie`. Redaction takes
 * about 20 µs per line. At level `info`, a turn writes one line.
 */
export const SECRET_PATHS: readonly string[] = SECRET_KEYS.flatMap((key) => {
  const path = `["${key}"]`;
  return [path, `*${path}`, `*.*${path}`];
});

/** Forms of API keys of providers and well-known services, of turnfold's access keys, and of webhook secrets. */
const SECRET_FORMS =
  /\b(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|xox[a-z]-[\w-]{10,}|AKIA[A-Z0-9]{16}|AIza[\w-]{30,}|tfk_[0-9a-f]{16}_[\w-]{43}|whsec_[\w+/=]{24,})/g;

/** Text with dots that may be a JSON Web Token. */
const DOTTED = /[\w.-]+/g;
/** The first part of a JSON Web Token is the base64 form of `{"…`. */
const TOKEN_HEAD = /(?<!\w)eyJ[\w-]{8}/;

const NAMES = 'api[_-]?key|access[_-]?token|authorization|cookie|password|passwd|secret';
/** A value ends at a quote, space or bracket. JSON literals and numbers stay, so that the line stays valid JSON. */
const VALUE = String.raw`(?!\[redacted|(?:true|false|null|\d+)[,}\]])[^\s\\"',;}\]]{3,}`;

/** `Bearer …`, `OPENAI_API_KEY=…`, and `"password":"…"`, also with escaped quotes. */
const NAMED_SECRETS = new RegExp(
  [
    String.raw`(\bbearer\s+`,
    String.raw`\b(?:${NAMES})\b[\\"']*\s*[:=]\s*[\\"']*(?:(?:bearer|basic)\s+)?`,
    String.raw`\b\w+(?:api_key|token|secret|password)=["']?)${VALUE}`,
  ].join('|'),
  'gi',
);

/** Removing shorter secrets would remove ordinary words. */
const MIN_SECRET_CHARS = 8;

export type Redact = (text: string) => string;

/** @param known secrets of this process, removed in plain and in JSON-escaped form */
export function createRedaction(known: readonly string[]): Redact {
  const forms = known
    .filter(({ length }) => length >= MIN_SECRET_CHARS)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  return (text) => redactSecrets(forms.reduce((left, form) => left.replaceAll(form, REDACTED), text));
}

function redactSecrets(text: string): string {
  return hideUrlCredentials(text)
    .replaceAll(SECRET_FORMS, REDACTED)
    .replaceAll(DOTTED, hideWebTokens)
    .replaceAll(NAMED_SECRETS, `$1${REDACTED}`);
}

function hideUrlCredentials(text: string): string {
  return text.replaceAll(/(?<=:\/\/)[^\s/"]+(?=@)/g, REDACTED);
}

/** One pattern for a whole web token would search the text again at each `eyJ`: 13 s for 60 KB of `eyJ-`. */
function hideWebTokens(dotted: string): string {
  if (!dotted.includes('eyJ')) return dotted;
  const parts = dotted.split('.');
  const shown: string[] = [];
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] ?? '';
    const head = parts[at + 1] && parts[at + 2] ? part.search(TOKEN_HEAD) : -1;
    shown.push(head === -1 ? part : part.slice(0, head) + REDACTED);
    if (head !== -1) at += 2;
  }
  return shown.join('.');
}
