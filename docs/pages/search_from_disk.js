// Search without a server. Browsers start no worker for pages that are opened from disk; there, the
// script of a worker runs in a hidden frame, and messages go to and fro as events.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const address = new URL(url, document.baseURI).href;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      this.ready = new Promise((resolve) => {
        const start = () => {
          document.body.append(frame);
          const inner = frame.contentWindow;
          inner.postMessage = (data) =>
            setTimeout(() => this.dispatchEvent(new MessageEvent("message", { data })));
          inner.importScripts = async (...scripts) => {
            for (const script of scripts) await loadInto(inner, new URL(script, address).href);
          };
          loadInto(inner, address).then(() => resolve(inner));
        };
        document.body ? start() : addEventListener("DOMContentLoaded", start);
      });
    }
    postMessage(data) {
      this.ready.then((inner) =>
        inner.dispatchEvent(new inner.MessageEvent("message", { data })));
    }
    terminate() {}
  };
}

function loadInto(inner, address) {
  return new Promise((resolve) => {
    const script = inner.document.createElement("script");
    script.onload = resolve;
    script.src = address;
    inner.document.head.append(script);
  });
}
