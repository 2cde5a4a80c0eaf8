import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { findOnPath } from '../../src/host/local-redis/local-server.ts';
import { serverPath } from './servers.ts';

const run = promisify(execFile);
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

export interface Certificate {
  /** Path. */
  readonly certFile: string;
  /** Path. */
  readonly keyFile: string;
  /** Text in PEM. */
  readonly cert: string;
  /** Text in PEM. */
  readonly key: string;
}

export interface Authority extends Certificate {
  /** @param names in the form of OpenSSL: `DNS:localhost,IP:127.0.0.1` */
  issue(names: string, options?: { readonly days?: number }): Promise<Certificate>;
}

/** Returns the reason why certificates cannot be created on this machine, or undefined if they can. */
export async function findOpensslObstacle(): Promise<string | undefined> {
  const openssl = await findOnPath(['openssl'], process.env['PATH'] ?? '');
  return openssl === undefined ? 'skipped: PATH has no openssl, and Node makes no certificates' : undefined;
}

/** Returns the reason why TLS cannot be tested on this machine, or undefined if it can. */
export async function findTlsObstacle(): Promise<string | undefined> {
  const obstacle = await findOpensslObstacle();
  if (obstacle !== undefined) return obstacle;
  if (serverPath === undefined) return 'skipped: PATH has no server';
  // A server that was built without TLS does not know this option. A server with TLS refuses only the value.
  const { stderr } = await run(serverPath, ['--tls-cluster', 'maybe']).catch((error: { stderr: string }) => error);
  return /must be 'yes' or 'no'/.test(stderr) ? undefined : 'skipped: the server on PATH was built without TLS';
}

/** Creates a certificate authority, whose files are removed at the end of the test. */
export async function createAuthority({ days: ownDays = 2 } = {}): Promise<Authority> {
  const folder = await mkdtemp(join(tmpdir(), 'turnfold-tls-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  let count = 0;
  const pathsOf = (name: string) => ({ certFile: join(folder, `${name}.crt`), keyFile: join(folder, `${name}.key`) });
  const read = async (files: ReturnType<typeof pathsOf>): Promise<Certificate> => ({
    ...files,
    cert: await readFile(files.certFile, 'utf8'),
    key: await readFile(files.keyFile, 'utf8'),
  });
  const own = pathsOf('authority');
  const subject = ['-subj', '/CN=authority of a test'];
  await run('openssl', [
    'req',
    '-x509',
    ...KEY,
    '-keyout',
    own.keyFile,
    '-out',
    own.certFile,
    '-days',
    String(ownDays),
    ...subject,
  ]);
  return {
    ...(await read(own)),
    async issue(names, { days = 1 } = {}) {
      count += 1;
      const issued = pathsOf(String(count));
      const request = join(folder, `${count}.csr`);
      const about = ['-subj', '/CN=redis', '-addext', `subjectAltName=${names}`];
      await run('openssl', ['req', '-new', ...KEY, '-keyout', issued.keyFile, '-out', request, ...about]);
      const signer = ['-CA', own.certFile, '-CAkey', own.keyFile, '-set_serial', String(count)];
      const term = ['-copy_extensions', 'copy', '-days', String(days)];
      await run('openssl', ['x509', '-req', '-in', request, ...signer, ...term, '-out', issued.certFile]);
      return await read(issued);
    },
  };
}
