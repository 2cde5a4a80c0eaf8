import type { AccessAnswer } from '../../../src/api/contract/server.ts';
import { useAnswer } from '../shell/use-answer.ts';
import { withTenant } from './commands.ts';
import { CopyButton } from './copy-button.tsx';

/** Shows a command to copy. Shows nothing until the tenant of the key is known, because the command names the tenant. */
export function CommandLine({ command }: { readonly command: string }) {
  const { value } = useAnswer<AccessAnswer>(['access']);
  if (value === undefined) return null;
  const text = withTenant(command, value.tenant);
  return (
    <p class="command">
      <code>{text}</code>
      <CopyButton text={text} what="the command" />
    </p>
  );
}
