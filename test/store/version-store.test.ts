import { describeStore } from './contract/store.ts';
import { openMemoryStoreHarness, openRedisStoreHarness } from './store-harness.ts';

describeStore('versions', 'memory', openMemoryStoreHarness);
describeStore('versions', 'Redis', openRedisStoreHarness);
