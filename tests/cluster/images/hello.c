/* An HTTP server on port 8080 that answers everything with "hello", to see a pulled image run. */
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static const char ANSWER[] = "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhello\n";

static void leave(int signal) { _exit(signal == SIGTERM ? 0 : 1); }

int main(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(8080)};
  int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  signal(SIGTERM, leave);
  signal(SIGPIPE, SIG_IGN);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 16)) {
    perror("port 8080");
    return 1;
  }
  for (;;) {
    char request[4096];
    int peer = accept(listener, 0, 0);
    if (peer < 0) continue;
    if (read(peer, request, sizeof request) > 0 && write(peer, ANSWER, sizeof ANSWER - 1) < 0) perror("write");
    close(peer);
  }
}
