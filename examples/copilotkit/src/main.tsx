import { CopilotKitProvider } from '@copilotkit/react-core/v2';
import { createRoot } from 'react-dom/client';
import { Desk } from './desk.tsx';
import '@copilotkit/react-core/v2/styles.css';
import './style.css';

/** The thread is in the address, so a reload and a shared link show the same conversation. */
function readThread(): string {
  const url = new URL(location.href);
  const thread = url.searchParams.get('thread') ?? crypto.randomUUID();
  url.searchParams.set('thread', thread);
  history.replaceState(null, '', url);
  return thread;
}

const root = document.getElementById('root');
if (root !== null) {
  createRoot(root).render(
    <CopilotKitProvider runtimeUrl="/api/copilotkit" showDevConsole={false}>
      <Desk thread={readThread()} />
    </CopilotKitProvider>,
  );
}
