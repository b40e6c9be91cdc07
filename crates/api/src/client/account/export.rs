//! The streamed export of an account.

use crate::client::ClientApi;
use crate::routing::{Calls, JSON};
use aether_services::account::AccountExporter;
use aether_services::{CallContext, ServiceError};
use axum::body::{Body, Bytes, HttpBody};
use axum::response::Response;
use http::header;
use hyper::body::Frame;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Text before and after the document, as the message of the operation has it.
const BEFORE: &str = r#"{"document":"#;
const AFTER: &str = "}";

/// Returns the answer with the export of the caller. If a page cannot be read, the answer ends before its end.
pub(super) fn answer(api: &ClientApi, context: &CallContext) -> Response {
    // The operation has checked that the caller is a user.
    let user = context.caller.user().map(|identity| identity.user).unwrap_or_default();
    let exporter = api.services().accounts.export(user);
    let body = ExportBody { page: Box::pin(read_page(exporter)), is_begun: false, is_ended: false };
    let mut response = Response::new(Body::new(body));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

type PageRead = (AccountExporter, Result<Option<String>, ServiceError>);

async fn read_page(mut exporter: AccountExporter) -> PageRead {
    let page = exporter.next_page().await;
    (exporter, page)
}

/// Body that reads the next page when the connection has taken the last.
struct ExportBody {
    page: Pin<Box<dyn Future<Output = PageRead> + Send>>,
    is_begun: bool,
    is_ended: bool,
}

impl HttpBody for ExportBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.is_ended {
            return Poll::Ready(None);
        }
        let (exporter, page) = ready!(self.page.as_mut().poll(context));
        let text = match page {
            Ok(Some(page)) => {
                self.page = Box::pin(read_page(exporter));
                let before = if self.is_begun { "" } else { BEFORE };
                self.is_begun = true;
                format!("{before}{page}")
            }
            Ok(None) => {
                self.is_ended = true;
                AFTER.to_owned()
            }
            Err(error) => {
                self.is_ended = true;
                return Poll::Ready(Some(Err(io::Error::other(error.message))));
            }
        };
        Poll::Ready(Some(Ok(Frame::data(text.into()))))
    }
}
