import { TurnfoldError } from '../domain/errors.ts';
import { ROLES, type WorkerRole } from '../runtime/workers-options.ts';

/** @param list separated by commas @throws invalid_config */
export function readRoles(list: string): WorkerRole[] {
  return list.split(',').map((name) => {
    const role = ROLES.find((known) => known === name.trim());
    if (role !== undefined) return role;
    throw new TurnfoldError('invalid_config', `--roles: '${name}' is no role: ${ROLES.join(', ')}`, {
      field: '--roles',
    });
  });
}
