import { CopilotChat, useAgent, useAgentContext, useFrontendTool } from '@copilotkit/react-core/v2';
import { useState } from 'react';
import { z } from 'zod';
import { useApproval } from './use-approval.tsx';

const THEMES = ['light', 'dark'] as const;
type Theme = (typeof THEMES)[number];
const themeInput = z.object({ theme: z.enum(THEMES) });

const stateSchema = z.object({ notes: z.array(z.string()) });

/** A desk beside a chat. The agent reads who sits there, changes the theme of the page, and shares the notes. */
export function Desk({ thread }: { readonly thread: string }) {
  const [theme, setTheme] = useState<Theme>('light');
  useAgentContext({ description: 'The person at the desk', value: 'Ada' });
  useFrontendTool({
    name: 'set_theme',
    description: 'Sets the theme of the page',
    parameters: themeInput,
    handler: async (given) => {
      const read = themeInput.safeParse(given);
      if (!read.success) return `no such theme: expected one of ${THEMES.join(', ')}`;
      setTheme(read.data.theme);
      return `the theme is ${read.data.theme}`;
    },
  });
  useApproval();
  return (
    <main className={theme} data-theme={theme}>
      <Notes />
      <section className="chat">
        <CopilotChat threadId={thread} />
      </section>
    </main>
  );
}

/** Notes that the page and the agent both change. */
function Notes() {
  const { agent } = useAgent();
  const { data } = stateSchema.safeParse(agent.state);
  const notes = data?.notes ?? [];
  return (
    <aside>
      <h1>Notes</h1>
      {notes.length === 0 && <p>No notes yet. Add one, or ask for one.</p>}
      <ul>
        {notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
      <button type="button" onClick={() => agent.setState({ notes: [...notes, `Note ${notes.length + 1}`] })}>
        Add a note
      </button>
    </aside>
  );
}
