import { describe, expect, test } from 'vitest';
import { explainForeignHost, isAllowedHost, readAllowedHosts, splitList } from '../../src/domain/allowed-hosts.ts';

const hosts = readAllowedHosts(['API.example.com', '*.example.org'], 'allowedHosts');

describe('isAllowedHost with a list of two host patterns', () => {
  test.each([
    'localhost',
    'localhost:3000',
    'page-1.localhost:3000',
    '127.0.0.1:80',
    '[::1]:8080',
    'api.example.com',
    'a.b.example.org:443',
  ])('isAllowedHost accepts the host %s', (host) => {
    expect(isAllowedHost(host, hosts)).toBe(true);
  });

  test('isAllowedHost accepts every host name if the list contains `*`', () => {
    expect(isAllowedHost('whatever.example', readAllowedHosts(['*'], 'allowedHosts'))).toBe(true);
  });
});

describe('isAllowedHost with names outside its list', () => {
  test.each([
    'example.com',
    'example.org',
    'evil.com',
    'evil-localhost',
    'localhost.evil.com',
    'api.example.com.evil.com',
    '',
    'a b',
    'api.example.com:x',
  ])('isAllowedHost refuses the host %j', (host) => {
    expect(isAllowedHost(host, hosts)).toBe(false);
  });
});

test.each(['https://example.com', 'example.com:80', 'a b', ''])('a list of host names with %j is refused', (name) => {
  expect(() => readAllowedHosts([name], 'allowedHosts')).toThrow(
    'allowedHosts: must be host names without scheme and port',
  );
});

test('splitList splits a list at its commas and leaves empty items out', () => {
  expect(splitList(' a, b,,c ')).toEqual(['a', 'b', 'c']);
  expect(splitList(undefined)).toEqual([]);
});

test('the explanation of a refused host name says where to add the name', () => {
  expect(explainForeignHost('evil.com', 'allowedHosts')).toMatch(
    /"evil.com" is no host name of this server.*Add the name to allowedHosts/,
  );
});
