import type { Redis } from 'ioredis';
import type { VersionStore } from '../../domain/ports/version-store.ts';
import type { Keyspace } from '../keys.ts';
import { bindScript } from '../script.ts';
import { beginFork } from './begin-fork.ts';
import { copyToFork } from './copy-to-fork.ts';
import { endFork } from './end-fork.ts';
import { bindReadTexts } from './read-texts.ts';
import { replaceVersion } from './replace.ts';
import { startIdleTtl } from './start-idle-ttl.ts';

/** Versions that services ask for, in Redis. Every write is one script over one conversation. */
export function openVersionStore(redis: Redis, keyspace: Keyspace): VersionStore {
  const copy = bindScript(redis, copyToFork(keyspace));
  const end = bindScript(redis, endFork(keyspace));
  return {
    replaceVersion: bindScript(redis, replaceVersion(keyspace)),
    startIdleTtl: bindScript(redis, startIdleTtl(keyspace)),
    readTexts: bindReadTexts(redis, keyspace),
    beginFork: bindScript(redis, beginFork(keyspace)),
    copyToFork: (conversation, operation, batch) => copy({ conversation, operation, batch }),
    endFork: (conversation, operation, version) => end({ conversation, operation, version }),
  };
}
