// A `fetch` with scripted answers, which records requests.

export class Answers {
  asked = [];
  #answers;

  /** Each answer is a function of the request, `[status, body, headers]`, or an error; the last one repeats. */
  constructor(...answers) {
    this.#answers = answers;
  }

  fetch = async (url, init) => {
    const { pathname, search } = new URL(url);
    const request = { method: init.method, path: pathname + search, headers: init.headers, body: init.body && JSON.parse(init.body) };
    this.asked.push(request);
    let answer = this.#answers.length > 1 ? this.#answers.shift() : this.#answers[0];
    if (typeof answer === "function") answer = await answer(request, init);
    if (answer instanceof Error) throw answer;
    if (answer === "never") {
      return new Promise((_, reject) => init.signal.addEventListener("abort", () => reject(init.signal.reason)));
    }
    const [status, body = {}, headers = {}] = answer;
    return new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers });
  };

  /** Times between requests. */
  get paths() {
    return this.asked.map((request) => `${request.method} ${request.path}`);
  }
}

/** Returns a token as a server creates it, valid for the given seconds. */
export function token(claims, seconds = 900) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "none" })}.${part({ uid: "u1", usn: "ann", iat: 1_000_000, exp: 1_000_000 + seconds, ...claims })}.signature`;
}
