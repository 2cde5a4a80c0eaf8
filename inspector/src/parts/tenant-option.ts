/** Adds the tenant to a command, unless it is the one that commands take by default. */
export function withTenant(command: string, tenant: string): string {
  return tenant === '_' ? command : `${command} --tenant ${tenant}`;
}
