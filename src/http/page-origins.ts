import { HttpProblem } from './problem.ts';

export interface OriginRules {
  readonly hosts: readonly string[] | undefined;
  readonly cors: readonly string[];
}

/**
 * Refuses requests of web pages that have no right to the server. Without keys, any page in a browser on this machine
 * could send requests. A page could also use a host name of its own that leads to this machine (DNS rebinding).
 * @throws forbidden
 */
export function checkOrigin(request: Request, { hosts, cors }: OriginRules): void {
  const host = request.headers.get('host') ?? '';
  const name = host.replace(/:\d+$/, '');
  if (hosts !== undefined && !hosts.includes(name)) {
    throw new HttpProblem('forbidden', `this server answers only to ${hosts.join(', ')}`, { field: 'host' });
  }
  const origin = request.headers.get('origin');
  if (origin === null || cors.includes('*') || cors.includes(origin)) return;
  if (URL.canParse(origin) && new URL(origin).host === host) return;
  throw new HttpProblem('forbidden', 'web pages of this origin may not call this server', { field: 'origin' });
}
