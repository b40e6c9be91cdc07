// Rules of Outpost for walking on empty ground, reimplemented in JavaScript.
//
// The server computes in 32-bit floats. Rounding after each operation gives the same result.

const f = Math.fround;
const SPEED = 18;
const ACCELERATION = 120;
const FRICTION = 90;
const WALKABLE = 256 - 1.25;
const STEPS_PER_UNIT = 64;

const length = (x, y) => f(Math.sqrt(f(f(x * x) + f(y * y))));
const rounded = (value) => (Math.sign(value) * Math.round(Math.abs(value) * STEPS_PER_UNIT)) / STEPS_PER_UNIT;

/** Returns rules with a speed factor relative to the server's. */
export function walking(speed = 1) {
  return {
    channel: "movement",
    step(state, input, seconds) {
      const lasts = f(seconds);
      const [px, py] = input.push;
      const pushed = length(px, py);
      const scale = f((pushed > 1 ? f(SPEED / pushed) : SPEED) * speed);
      const rate = f(pushed > 0 ? ACCELERATION : FRICTION);
      const change = [f(f(px * scale) - state.velocity[0]), f(f(py * scale) - state.velocity[1])];
      const wanted = length(change[0], change[1]);
      const share = wanted > f(rate * lasts) ? f(f(rate * lasts) / wanted) : 1;
      for (const axis of [0, 1]) {
        state.velocity[axis] = rounded(f(state.velocity[axis] + f(change[axis] * share)));
        const to = f(state.position[axis] + f(state.velocity[axis] * lasts));
        state.position[axis] = rounded(Math.min(Math.max(to, -WALKABLE), WALKABLE));
        if (Math.abs(to) > WALKABLE) state.velocity[axis] = 0;
      }
      state.aim = input.aim;
      state.reload = Math.max(0, state.reload - 1);
    },
  };
}
