import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type PageServer, servePages } from '../../src/host/health/page-server.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { readSeries } from '../telemetry/exposition.ts';
import { samples } from '../telemetry/sample-events.ts';

const servers: PageServer[] = [];

async function serve(metrics = createMetrics()): Promise<PageServer> {
  const server = await servePages({ port: 0, pages: { '/metrics': () => metrics.render() } });
  servers.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

test('the page server serves /metrics on a free port of 127.0.0.1', async () => {
  const metrics = createMetrics();
  metrics.listener(samples.lease_lost);
  const { host, port } = await serve(metrics);
  expect(host).toBe('127.0.0.1');
  const response = await fetch(`http://127.0.0.1:${port}/metrics?collect=all`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const series = readSeries(await response.text());
  expect(series.get('turnfold_leases_lost_total{what="turn",why="fenced"}')).toBe(1);
});

test.each([
  ['GET', '/'],
  ['GET', '/metrics/'],
  ['GET', '/metricsx'],
  ['GET', '/constructor'],
  ['GET', '/../metrics'],
  ['POST', '/metrics'],
  ['DELETE', '/metrics'],
])('the page server answers 404 to %s %s', async (method, path) => {
  const { port } = await serve();
  const sent = request({ host: '127.0.0.1', port, method, path }).end(); // fetch would normalize the path
  const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage];
  response.resume();
  expect(response.statusCode).toBe(404);
});

test('the page server answers 500 without details if a page cannot be rendered', async () => {
  const { port } = await serve({ ...createMetrics(), render: () => Promise.reject(new Error('secret detail')) });
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect(response.status).toBe(500);
  expect(await response.text()).toBe('this page could not be created. See the log of the worker\n');
});

test('closing the page server ends kept-alive connections, and a second close does nothing', async () => {
  const server = await serve();
  const socket = connect(server.port, '127.0.0.1');
  socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(socket, 'data');
  const ended = once(socket.resume(), 'close');
  await server.close();
  await ended;
  await server.close();
  await expect(fetch(`http://127.0.0.1:${server.port}/metrics`)).rejects.toThrow('fetch failed');
});

test('the page server answers HEAD like GET, without the body', async () => {
  const { port } = await serve();
  const response = await fetch(`http://127.0.0.1:${port}/metrics`, { method: 'HEAD' });
  expect([response.status, await response.text()]).toEqual([200, '']);
});

test('the server of /metrics names the setting metrics.host in its error if that host belongs to another machine', async () => {
  await expect(servePages({ port: 0, host: '192.0.2.1', pages: {} })).rejects.toMatchObject({
    code: 'invalid_config',
    field: 'metrics.host',
  });
});

test('the server of /metrics names the setting metrics.port in its error if that port is in use', async () => {
  const { port } = await serve();
  await expect(servePages({ port, pages: {} })).rejects.toMatchObject({
    code: 'invalid_config',
    field: 'metrics.port',
    message: expect.stringContaining('EADDRINUSE'),
  });
});

test.each([
  ['evil.example', 403],
  ['worker.evil.example', 403],
  ['127.0.0.1.evil.example', 403],
  ['localhost:9464', 200],
  ['10.1.2.3:9464', 200],
  ['[fd00::7]:9464', 200],
  ['worker.internal:9464', 200],
])('the page server answers a request for the host name %s with status %i', async (host, status) => {
  const pages = { '/metrics': () => ({ contentType: 'text/plain', body: '' }) };
  const server = await servePages({ port: 0, allowedHosts: ['worker.internal'], pages });
  servers.push(server);
  const sent = request({ host: '127.0.0.1', port: server.port, path: '/metrics', headers: { host } }).end();
  const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage];
  response.resume();
  expect(response.statusCode).toBe(status);
});

test('the page server answers an HTTP/1.0 probe without a host name', async () => {
  const { port } = await serve();
  const socket = connect(port, '127.0.0.1');
  socket.write('GET /metrics HTTP/1.0\r\n\r\n');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
});
