import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { IconClose } from './icons.tsx';

interface DialogProps {
  readonly title: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** The browser keeps the focus inside, closes the dialog at Escape, and gives the focus back. */
export function Dialog({ title, actions, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const { current } = dialog;
    current?.showModal();
    return () => current?.close();
  }, []);
  const closeAtBackdrop = ({ target }: Event): void => {
    if (target === dialog.current) onClose();
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={id} onClose={onClose} onClick={closeAtBackdrop}>
      <div class="dialog-page">
        <header class="dialog-head">
          <h2 id={id}>{title}</h2>
          <button type="button" class="icon-button" onClick={onClose} aria-label="Close" title="Close (Esc)">
            <IconClose />
          </button>
        </header>
        <div class="dialog-body">{children}</div>
        {actions !== undefined && <footer class="dialog-foot">{actions}</footer>}
      </div>
    </dialog>
  );
}
