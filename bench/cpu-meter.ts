import { Redis } from 'ioredis';

/** CPU time in ms that this process and Redis used between two calls. Other load on the machine hardly changes it. */
export interface CpuUse {
  readonly nodeMs: number;
  readonly redisMs: number;
}

export class CpuMeter {
  readonly #redis: Redis;
  #node = process.cpuUsage();
  #redisMs = 0;

  private constructor(url: string) {
    this.#redis = new Redis(url);
  }

  static async open(url: string): Promise<CpuMeter> {
    const meter = new CpuMeter(url);
    await meter.read();
    return meter;
  }

  /** Returns the CPU time since the last call. */
  async read(): Promise<CpuUse> {
    const node = process.cpuUsage(this.#node);
    this.#node = process.cpuUsage();
    const info = await this.#redis.info('cpu');
    const total = ['used_cpu_sys', 'used_cpu_user'].reduce(
      (sum, name) => sum + Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1] ?? 0) * 1_000,
      0,
    );
    const redisMs = total - this.#redisMs;
    this.#redisMs = total;
    return { nodeMs: (node.user + node.system) / 1_000, redisMs };
  }

  close(): void {
    this.#redis.disconnect();
  }
}
