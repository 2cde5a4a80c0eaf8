import { Redis } from 'ioredis';

/** CPU time in ms that this process and Redis used between two calls. Other load on the machine hardly changes it. */
export interface CpuUse {
  readonly nodeMs: number;
  readonly redisMs: number;
}

/** Work of Redis between two calls. Commands include those in scripts. */
export interface RedisWork {
  readonly commands: number;
  readonly scripts: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Time in µs that the commands took, without the scripts that call them. */
  readonly commandMicros: number;
}

export class CpuMeter {
  readonly #redis: Redis;
  #node = process.cpuUsage();
  #redisMs = 0;
  #work: RedisWork = { commands: 0, scripts: 0, bytesIn: 0, bytesOut: 0, commandMicros: 0 };

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

  /** Returns the work of Redis since the last call. */
  async readWork(): Promise<RedisWork> {
    const info = `${await this.#redis.info('stats')}\n${await this.#redis.info('commandstats')}`;
    const read = (name: string): number => Number(new RegExp(`^${name}(\\d+)`, 'm').exec(info)?.[1] ?? 0);
    const work = {
      commands: read('total_commands_processed:'),
      scripts: read('cmdstat_evalsha:calls='),
      bytesIn: read('total_net_input_bytes:'),
      bytesOut: read('total_net_output_bytes:'),
      commandMicros: [...info.matchAll(/^cmdstat_(?!eval)[^:]+:.*?usec=(\d+)/gm)].reduce(
        (sum, [, us]) => sum + Number(us),
        0,
      ),
    };
    const before = this.#work;
    this.#work = work;
    return {
      commands: work.commands - before.commands,
      scripts: work.scripts - before.scripts,
      bytesIn: work.bytesIn - before.bytesIn,
      bytesOut: work.bytesOut - before.bytesOut,
      commandMicros: work.commandMicros - before.commandMicros,
    };
  }

  close(): void {
    this.#redis.disconnect();
  }
}
