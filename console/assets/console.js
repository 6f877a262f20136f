// Shows the progress of a run as it happens. Every page works without this script.

const run = document.getElementById("run");

if (run?.dataset.events) {
  follow(run);
}

/** Adds the lines of a run as they arrive, and loads the page again when the run has ended. */
function follow(run) {
  const log = document.getElementById("log");
  const waiting = document.getElementById("waiting");
  const push = document.getElementById("push");
  let next = Number(run.dataset.next);
  const source = new EventSource(run.dataset.events);
  source.addEventListener("message", ({ data }) => {
    const state = JSON.parse(data);
    const first = state.next - state.lines.length;
    for (const line of state.lines.slice(Math.max(0, next - first))) {
      const item = document.createElement("li");
      item.textContent = line.trim();
      log.append(item);
    }
    next = Math.max(next, state.next);
    if (waiting.textContent !== (state.waiting ?? "")) {
      waiting.textContent = state.waiting ?? "";
    }
    push.hidden = !state.push;
    if (state.push) {
      const bar = push.querySelector("progress");
      bar.max = Math.max(1, state.push[1]);
      bar.value = state.push[0];
    }
    if (state.ended) {
      source.close();
      location.reload();
    }
  });
}
