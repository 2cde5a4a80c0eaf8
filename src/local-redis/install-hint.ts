/** Package commands by the ids that /etc/os-release uses for itself and for the systems it resembles. */
const INSTALL_COMMANDS: readonly (readonly [ids: readonly string[], command: string])[] = [
  [['debian', 'ubuntu'], 'sudo apt-get update && sudo apt-get install redis-server'],
  [['fedora', 'rhel', 'centos'], 'sudo dnf install valkey (or: sudo dnf install redis)'],
  [['alpine'], 'apk add redis'],
  [['arch'], 'sudo pacman -S valkey'],
  [['suse', 'opensuse'], 'sudo zypper install redis'],
];

/** What a person on this system can do to get a Redis. `osRelease` is the text of /etc/os-release, "" if none. */
export function describeInstallation(platform: NodeJS.Platform, osRelease: string): string {
  const others = 'start Docker, or set REDIS_URL=redis://host:6379.';
  const command = findCommand(platform, osRelease);
  if (command !== undefined) return `Install Redis: ${command}; or ${others}`;
  if (platform === 'win32') return `Run this in WSL with Redis installed, or ${others}`;
  return `Install Redis 7 or newer so that redis-server is on PATH, or ${others}`;
}

function findCommand(platform: NodeJS.Platform, osRelease: string): string | undefined {
  if (platform === 'darwin') return 'brew install redis';
  if (platform !== 'linux') return undefined;
  const ids = [...osRelease.matchAll(/^ID(?:_LIKE)?=(.+)$/gm)].flatMap(([, value]) => value?.match(/[\w-]+/g) ?? []);
  return INSTALL_COMMANDS.find(([known]) => known.some((id) => ids.includes(id)))?.[1];
}
