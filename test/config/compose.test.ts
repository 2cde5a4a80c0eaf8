import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadAgents } from '../../src/cli/load-agents.ts';
import { readConfig } from '../../src/config.ts';
import { ROLES } from '../../src/runtime/start-workers.ts';

const composeSchema = z.object({
  services: z.record(
    z.string(),
    z.object({
      command: z.union([z.string().transform((line) => line.split(' ')), z.array(z.string())]),
      environment: z.record(z.string(), z.coerce.string()).optional(),
      healthcheck: z.object({ test: z.array(z.string()) }),
      stop_grace_period: z
        .string()
        .regex(/^\d+s$/)
        .optional(),
    }),
  ),
});
const file = new URL('../../docker-compose.yml', import.meta.url);
const { services } = composeSchema.parse(parse(readFileSync(file, 'utf8'), { merge: true }));
const { redis, ...workers } = services;

/** docker-compose.yml names options, settings and files that nothing compiles: here they are held to the code. */
describe('docker-compose.yml', () => {
  test('its workers have each role once, and agents that load', async () => {
    const options = Object.values(workers).map(({ command }) => ({
      roles: optionOf(command, '--roles').split(','),
      agents: optionOf(command, '--agents'),
    }));
    expect(options.flatMap(({ roles }) => roles).toSorted()).toEqual([...ROLES].toSorted());
    for (const { agents } of options) expect(await loadAgents(agents)).not.toEqual([]);
  });

  test.each(Object.entries(workers))('the settings of %s are read, and it has the time to close', (_, worker) => {
    const { redisUrl, metrics, shutdownMs } = readConfig(worker.environment);
    expect(redisUrl).toBe('redis://redis:6379');
    expect(metrics.host).toBe('0.0.0.0');
    expect(Number.parseInt(worker.stop_grace_period ?? '', 10) * 1_000).toBeGreaterThan(shutdownMs);
    expect(worker.healthcheck.test.join(' ')).toContain(`127.0.0.1:${metrics.port}'`);
  });

  test('its Redis keeps what it acknowledged and lets the workers in', () => {
    const { command = [] } = redis ?? {};
    expect(optionOf(command, '--appendonly')).toBe('yes');
    expect(optionOf(command, '--maxmemory-policy')).toBe('noeviction');
    expect(optionOf(command, '--protected-mode')).toBe('no');
  });
});

function optionOf(command: readonly string[], name: string): string {
  const at = command.indexOf(name);
  return at === -1 ? `no ${name}` : (command[at + 1] ?? '');
}
