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
 * Paths for pino's `redact`: the keys above at the top of a line and up to two levels below (`provider.headers.cookie`). They
 * cost about 20 µs a line; at `info` a turn writes one.
 */
export const SECRET_PATHS: readonly string[] = SECRET_KEYS.flatMap((key) => {
  const path = `["${key}"]`;
  return [path, `*${path}`, `*.*${path}`];
});

/**
 * `redis://user:password@host` → `redis://[redacted]@host`, wherever it stands in a line: an address is quoted in messages
 * under no key that a path could name.
 */
export function hideUrlCredentials(line: string): string {
  return line.replaceAll(/(?<=:\/\/)[^\s/"]+(?=@)/g, REDACTED);
}
