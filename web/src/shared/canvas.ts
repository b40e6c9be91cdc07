// A canvas that has as many pixels as the screen shows of it.

/** Beyond this the eye sees no difference, and the drawing only gets slower. */
const PIXEL_RATIO_MAX = 2.5;

export class Canvas {
  readonly element: HTMLCanvasElement;
  readonly context: CanvasRenderingContext2D;
  /** Size in pixels of the page. */
  width = 1;
  height = 1;

  constructor(element: HTMLCanvasElement) {
    const context = element.getContext("2d");
    if (context === null) throw new Error("This browser cannot draw on a canvas.");
    this.element = element;
    this.context = context;
    new ResizeObserver(() => this.measure()).observe(element);
    this.measure();
  }

  /** Begins a drawing: takes the screen's pixel ratio as it is now, and scales to pixels of the page. */
  begin(): void {
    const ratio = Math.min(devicePixelRatio, PIXEL_RATIO_MAX);
    const [width, height] = [Math.round(this.width * ratio), Math.round(this.height * ratio)];
    if (this.element.width !== width || this.element.height !== height) {
      this.element.width = width;
      this.element.height = height;
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
  }

  private measure(): void {
    this.width = Math.max(1, this.element.clientWidth);
    this.height = Math.max(1, this.element.clientHeight);
  }
}
