import { describeTurnStore } from './contract/turn-store.ts';
import { openMemoryHarness, openRedisHarness } from './turn-harness.ts';

describeTurnStore('memory', openMemoryHarness);
describeTurnStore('Redis', openRedisHarness);
