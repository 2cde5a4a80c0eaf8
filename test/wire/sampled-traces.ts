import { takeSample } from '../setup/count-runs.ts';
import { type RecordedConversation, readConversationFiles } from './traces.ts';

/** Maximum conversations of a file with `npm test`. All of them take a minute more. */
const MOST_OF_A_FILE = 4;

/** Reads recorded conversations of every file. Empty if the files are absent. */
export function sampleConversations(): RecordedConversation[] {
  return readConversationFiles().flatMap(({ conversations }) => takeSample(conversations, MOST_OF_A_FILE));
}
