// The memory's server: every request with the owner and the token, every refusal as one kind of error.

export class Refused extends Error {
  constructor(status, error) {
    super([error.message, error.hint].filter(Boolean).join(" "));
    this.status = status;
  }
}

export const who = { owner: "", token: "" };

export async function ask(path, body, method = body === undefined ? "GET" : "POST") {
  const headers = {};
  if (who.owner) headers["X-Recollect-Owner"] = who.owner;
  if (who.token) headers.Authorization = `Bearer ${who.token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, said.error || { message: `The server answered ${answer.status}.` });
  return said;
}
