/** The webview's end of the conversation with the extension host. Knows nothing of what is shown. */
import { errorText } from '../../src/core/types.ts';
import {
  connect,
  serve,
  type Handlers,
  type Message,
  type Port,
  type Remote,
} from '../../src/protocol/channel.ts';
import type { HostVerbs, ViewVerbs } from '../../src/protocol/verbs.ts';

interface VsCodeApi {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}
declare function acquireVsCodeApi(): VsCodeApi;

const api = acquireVsCodeApi();

const port: Port = {
  post: message => api.postMessage(message),
  listen(receive) {
    const onMessage = (event: MessageEvent<Message>): void => receive(event.data);
    window.addEventListener('message', onMessage);
    return () => window.removeEventListener('message', onMessage);
  },
};

/** Serves the view's verbs and returns the host's. */
export function joinHost<H = HostVerbs, V = ViewVerbs>(handlers: Handlers<NoInfer<V>>): Remote<H> {
  serve<V>(port, handlers);
  return connect<H>(port).remote;
}

/** What the window keeps for this view over a reload. */
export const keepState = (state: unknown): void => api.setState(state);
/** What it kept before the reload; undefined in a new view. */
export const keptState = (): unknown => api.getState();

/** Shows a rejected ask where the user is looking; every promise that a view starts ends here. */
export function report(task: Promise<unknown>): void {
  task.catch((error: unknown) => {
    const bar = document.getElementById('failure');
    if (!bar) throw error;
    bar.textContent = errorText(error);
    bar.hidden = false;
  });
}
