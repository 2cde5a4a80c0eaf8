import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { eventually } from '../runtime/fixture.ts';
import { findAlertmanager, startAlertmanager } from './alertmanager.ts';
import { findPrometheusProgram } from './prometheus.ts';
import { ALERTS, type Alert, pathOf } from './rule-files.ts';

const run = promisify(execFile);

const amtool = await findPrometheusProgram('amtool');
const program = await findAlertmanager();
/** Named where a test is skipped. */
const NEEDS = '(needs Debian’s prometheus-alertmanager on PATH, or apt to download it)';

const file = pathOf('alertmanager.yml');
const source = await readFile(file, 'utf8');

const configSchema = z.object({
  inhibit_rules: z.array(z.object({ source_matchers: z.array(z.string()), target_matchers: z.array(z.string()) })),
});
const { inhibit_rules } = configSchema.parse(parse(source, { merge: true }));

/** Alerts that a rule's matchers name, those of a pattern one by one. */
function listNamed(matchers: readonly string[]): string[] {
  const [, , pattern = ''] = /^alertname(=~?)"(.+)"$/.exec(matchers[0] ?? '') ?? [];
  const [, before = pattern, names = ''] = /^(\w+)\((.+)\)$/.exec(pattern) ?? [];
  return names.split('|').map((name) => `${before}${name}`);
}

describe('alertmanager.yml', () => {
  test.runIf(amtool !== undefined)(`amtool accepts alertmanager.yml, which routes by severity ${NEEDS}`, async () => {
    const { stdout } = await run(amtool ?? '', ['check-config', file]);
    expect(stdout).toContain('SUCCESS');
    for (const severity of new Set(ALERTS.map(({ labels }) => labels.severity))) {
      const routed = await run(amtool ?? '', [
        'config',
        'routes',
        'test',
        `--config.file=${file}`,
        `severity=${severity}`,
      ]);
      expect(routed.stdout.trim()).toBe(severity);
    }
  });

  test('alertmanager.yml names only existing alerts', () => {
    const named = inhibit_rules.flatMap((rule) => [rule.source_matchers, rule.target_matchers].flatMap(listNamed));
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !ALERTS.some(({ alert }) => alert === name))).toEqual([]);
  });

  test.runIf(program !== undefined)(
    `Alertmanager reports an outage of Redis and suppresses its consequences ${NEEDS}`,
    async () => {
      const chat = await openChat();
      const config = source.replaceAll(/group_wait: \w+/g, 'group_wait: 1s');
      const secrets = { alert_page_url: `${chat.url}/page\n`, alert_ticket_url: `${chat.url}/ticket\n` };
      const alertmanager = await startAlertmanager({ command: program ?? [], config, secrets });
      onTestFinished(() => alertmanager.stop());
      const alerts = [
        { alertname: 'TurnfoldRedisAway', job: 'turnfold' },
        { alertname: 'TurnfoldTurnsWaiting', job: 'turnfold' },
        { alertname: 'TurnfoldRedisMemory', job: 'turnfold' },
        { alertname: 'TurnfoldTurnsWaiting', job: 'turnfold-of-another-redis' },
        { alertname: 'TurnfoldPoisonTurns', job: 'turnfold' },
        { alertname: 'TurnfoldProviderErrors', job: 'turnfold', purpose: 'turn', model: 'a|b' },
        { alertname: 'TurnfoldModelsPassedOver', job: 'turnfold', purpose: 'turn', model: 'a' },
        { alertname: 'TurnfoldModelsPassedOver', job: 'turnfold', purpose: 'summary', model: 'c' },
      ];
      await alertmanager.send(
        alerts.map((own) => {
          const { labels, annotations } = findAlert(own.alertname);
          return { labels: { ...labels, ...own }, annotations };
        }),
      );
      await eventually(
        () => chat.received.map(({ path, title }) => `${path} ${title}`).toSorted(),
        (titles) =>
          expect(titles).toEqual([
            '/page FIRING TurnfoldProviderErrors (turnfold)',
            '/page FIRING TurnfoldRedisAway (turnfold)',
            '/page FIRING TurnfoldRedisMemory (turnfold)',
            '/page FIRING TurnfoldTurnsWaiting (turnfold-of-another-redis)',
            '/ticket FIRING TurnfoldModelsPassedOver (turnfold)',
            '/ticket FIRING TurnfoldPoisonTurns (turnfold)',
          ]),
      );
      const { summary, runbook } = findAlert('TurnfoldRedisAway').annotations;
      expect(chat.received.find(({ title }) => title.includes('RedisAway'))?.text).toBe(`${summary} ${runbook}`);
      const suppressed = await alertmanager.listSuppressed();
      expect(suppressed.toSorted((one, other) => nameOf(one).localeCompare(nameOf(other)))).toEqual([
        { alertname: 'TurnfoldModelsPassedOver', job: 'turnfold', severity: 'ticket', purpose: 'turn', model: 'a' },
        { alertname: 'TurnfoldTurnsWaiting', job: 'turnfold', severity: 'page' },
      ]);
    },
  );
});

function findAlert(name: string): Alert {
  const found = ALERTS.find(({ alert }) => alert === name);
  if (found === undefined) throw new Error(`no alert ${name}`);
  return found;
}

function nameOf({ alertname = '' }: Readonly<Record<string, string>>): string {
  return alertname;
}

interface Chat {
  readonly url: string;
  readonly received: { readonly path: string; readonly title: string; readonly text: string }[];
}

const messageSchema = z.object({ attachments: z.tuple([z.object({ title: z.string(), text: z.string() })]) });

/** Takes messages as a chat's webhooks do. */
async function openChat(): Promise<Chat> {
  const received: Chat['received'] = [];
  const hear = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [message] = messageSchema.parse(JSON.parse(await text(request))).attachments;
    received.push({ path: request.url ?? '', title: message.title, text: message.text.trim() });
    response.end('ok');
  };
  const server = createServer((request, response) => void hear(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}
