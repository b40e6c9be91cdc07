//! Panels and boxes over the world.

use crate::canvas::{Canvas, Ink};
use crate::feed::Feed;
use crate::hud::{Network, bold, style, thousands};
use crate::palette;
use crate::scene::Scene;
use aether_asteroids_rules::{HEIGHT, HighScore, PlayStatus, Standing, WIDTH};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Paragraph, Widget as _};

/// Width of the side panel.
pub const SIDE_WIDTH: u16 = 28;
/// Size of the map.
const MAP: [u16; 2] = [18, 5];
/// Background of the map.
const MAP_BACKGROUND: Color = Color::Indexed(233);
/// Maximum number of players in the corner.
const CORNER_ROWS: usize = 6;
/// Width of a row in the corner.
const CORNER_WIDTH: usize = 26;

/// Draws players, high scores and the connection beside the world.
pub fn paint_side(scene: &Scene, network: &Network, area: Rect, buffer: &mut Buffer) {
    let standings = (scene.standings.len() as u16 + 2).min(area.height / 2);
    let network_rows = 5.min(area.height);
    let scores = (scene.high_scores.len() as u16 + 2).min(area.height.saturating_sub(standings + network_rows));
    let [mut top, width] = [area.y, area.width];
    let mut next = |height: u16| {
        let part = Rect::new(area.x, top, width, height);
        top += height;
        part
    };
    let inner = usize::from(width.saturating_sub(4));
    let rows = scene.standings.iter().map(|standing| standing_row(standing, scene.player, inner)).collect();
    panel(" PLAYERS ", rows, next(standings), buffer);
    if scores > 2 {
        panel(" HIGH SCORES ", high_score_rows(&scene.high_scores, inner), next(scores), buffer);
    }
    let ping = network.ping.map_or("-".to_owned(), |ping| format!("{:.1} ms", ping.as_secs_f64() * 1_000.0));
    let rows = vec![
        pair("ping", ping, inner),
        pair("loss", format!("{:.1} %", network.loss * 100.0), inner),
        pair(network.transport.unwrap_or("offline"), format!("room {}", network.room), inner),
    ];
    let bottom = Rect::new(area.x, area.bottom().saturating_sub(network_rows), width, network_rows);
    panel(" NETWORK ", rows, bottom, buffer);
}

/// Draws the players in the upper right corner, if there are several.
pub fn paint_corner(scene: &Scene, area: Rect, buffer: &mut Buffer) {
    if scene.standings.len() < 2 || usize::from(area.width) < 2 * CORNER_WIDTH {
        return;
    }
    for (row, standing) in scene.standings.iter().take(CORNER_ROWS.min(area.height.into())).enumerate() {
        let line = standing_row(standing, scene.player, CORNER_WIDTH);
        let column = area.right().saturating_sub(CORNER_WIDTH as u16 + 1);
        buffer.set_line(column, area.y + row as u16, &line, CORNER_WIDTH as u16);
    }
}

/// Draws a map of the world in the lower right corner.
pub fn paint_map(scene: &Scene, area: Rect, buffer: &mut Buffer) {
    if area.width < 3 * MAP[0] || area.height < 3 * MAP[1] {
        return;
    }
    let [width, height] = MAP;
    let area = Rect::new(area.right() - width, area.bottom() - height, width, height);
    Clear.render(area, buffer);
    buffer.set_style(area, Style::new().bg(MAP_BACKGROUND));
    let mut canvas = Canvas::new(area);
    let size = canvas.size();
    let at = |[x, y]: [f32; 2]| [x / WIDTH * size[0], y / HEIGHT * size[1]];
    for seen in &scene.asteroids {
        canvas.dot(at(seen.asteroid.position), Ink { color: palette::ASTEROIDS[0], rank: 1 });
    }
    for ship in scene.others.iter().chain(&scene.own) {
        let ink = Ink { color: palette::player(ship.player, scene.player), rank: 2 };
        let [x, y] = at(ship.position);
        canvas.line([x, y], [x + 1.0, y], ink);
        canvas.line([x, y + 1.0], [x + 1.0, y + 1.0], ink);
    }
    canvas.render(area, buffer);
}

/// Draws recent messages in the lower left corner.
pub fn paint_feed(feed: &Feed, area: Rect, buffer: &mut Buffer) {
    for (index, text) in feed.messages().rev().enumerate().take(area.height.into()) {
        let row = area.bottom() - 1 - index as u16;
        buffer.set_stringn(area.x + 1, row, text, area.width.saturating_sub(2).into(), style(palette::LABEL));
    }
}

/// Draws the end of a game, with high scores.
pub fn paint_game_over(scene: &Scene, area: Rect, buffer: &mut Buffer) {
    let score = scene.standing().map_or(0, |standing| standing.score);
    let mut lines = vec![
        Line::from(Span::styled("GAME OVER", bold(palette::LIFE))),
        Line::from(vec![
            Span::styled("score ", style(palette::LABEL)),
            Span::styled(thousands(score), bold(palette::ACCENT)),
        ]),
        Line::default(),
    ];
    let space = usize::from(area.height).saturating_sub(lines.len() + 6);
    lines.extend(high_score_rows(&scene.high_scores, 26).into_iter().take(space.min(10)));
    lines.push(Line::default());
    lines.push(Line::from(Span::styled("SPACE plays again", bold(palette::VALUE))));
    paint_box("", lines, palette::LIFE, area, buffer);
}

/// Draws a message in the middle.
pub fn paint_message(heading: &str, texts: &[String], area: Rect, buffer: &mut Buffer) {
    let line = |text: &String| Line::from(Span::styled(text.clone(), style(palette::VALUE)));
    let title = format!(" {heading} ");
    paint_box(&title, texts.iter().map(line).collect(), palette::WARNING, area, buffer);
}

/// Draws a text in the middle, without a box.
pub fn paint_announcement(text: &str, area: Rect, buffer: &mut Buffer) {
    let width = text.chars().count() as u16;
    if width < area.width {
        let column = area.x + (area.width - width) / 2;
        buffer.set_string(column, area.y + area.height / 4, text, bold(palette::ACCENT));
    }
}

/// Returns the rows of high scores.
fn high_score_rows(scores: &[HighScore], width: usize) -> Vec<Line<'static>> {
    let row = |(index, score): (usize, &HighScore)| {
        let points = thousands(score.score);
        let name = format!("{:>2} {}", index + 1, score.name);
        let gap = width.saturating_sub(name.chars().count() + points.len());
        let color = if index == 0 { palette::ACCENT } else { palette::VALUE };
        Line::from(vec![
            Span::styled(name, style(color)),
            Span::raw(" ".repeat(gap)),
            Span::styled(points, style(color)),
        ])
    };
    scores.iter().enumerate().map(row).collect()
}

/// Returns the row of a player: name, lives, kills and points.
fn standing_row(standing: &Standing, own: u32, width: usize) -> Line<'static> {
    let points = thousands(standing.score);
    let is_over = standing.status == PlayStatus::GameOver;
    let lives = if is_over { "over".to_owned() } else { format!("▲{}", standing.lives) };
    let kills = if standing.kills > 0 { format!(" ×{}", standing.kills) } else { String::new() };
    let used = standing.name.chars().count() + 1 + lives.chars().count() + kills.chars().count() + points.len();
    Line::from(vec![
        Span::styled(standing.name.clone(), style(palette::player(standing.player, own))),
        Span::raw(" "),
        Span::styled(lives, style(if is_over { palette::LABEL } else { palette::LIFE })),
        Span::styled(kills, style(palette::WARNING)),
        Span::raw(" ".repeat(width.saturating_sub(used).max(1))),
        Span::styled(points, style(palette::VALUE)),
    ])
}

fn pair(label: &str, value: String, width: usize) -> Line<'static> {
    let gap = width.saturating_sub(label.chars().count() + value.chars().count());
    Line::from(vec![
        Span::styled(label.to_owned(), style(palette::LABEL)),
        Span::raw(" ".repeat(gap)),
        Span::styled(value, style(palette::VALUE)),
    ])
}

fn panel(title: &'static str, rows: Vec<Line<'_>>, area: Rect, buffer: &mut Buffer) {
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(style(palette::FRAME))
        .title(Span::styled(title, style(palette::LABEL)))
        .padding(ratatui::widgets::Padding::horizontal(1));
    Paragraph::new(rows).block(block).render(area, buffer);
}

/// Draws a box around centered lines.
fn paint_box(title: &str, lines: Vec<Line<'_>>, color: Color, area: Rect, buffer: &mut Buffer) {
    let width = lines.iter().map(Line::width).max().unwrap_or(0).max(title.chars().count()) as u16 + 6;
    let (width, height) = (width.min(area.width), (lines.len() as u16 + 2).min(area.height));
    let middle = |length: u16, inside: u16| (length - inside) / 2;
    let area = Rect::new(area.x + middle(area.width, width), area.y + middle(area.height, height), width, height);
    Clear.render(area, buffer);
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(style(color))
        .title_top(Line::from(Span::styled(title.to_owned(), bold(color))).centered());
    Paragraph::new(lines).centered().block(block).render(area, buffer);
}
