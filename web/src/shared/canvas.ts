// Canvas with the pixel density of the screen.

/** A higher density is not visible, and slows drawing down. */
const PIXEL_RATIO_MAX = 2.5;

export class Canvas {
  readonly element: HTMLCanvasElement;
  readonly context: CanvasRenderingContext2D;
  /** Size in CSS pixels. */
  width = 1;
  height = 1;

  constructor(element: HTMLCanvasElement) {
    const context = element.getContext("2d");
    if (context === null) throw new Error("This browser does not support 2D canvases.");
    this.element = element;
    this.context = context;
    new ResizeObserver(() => this.measure()).observe(element);
    this.measure();
  }

  /** Begins a frame: applies the current pixel ratio, and scales to CSS pixels. */
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
