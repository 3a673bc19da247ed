/* Looks names up as any program does; built with musl, whose resolver is another one. */
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>

static int is_six(const struct addrinfo* one) { return one->ai_family == AF_INET6; }

int main(int count, char** names) {
  for (int i = 1; i < count; ++i) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int code = getaddrinfo(names[i], NULL, &hints, &found);
    printf("%s:", names[i]);
    if (code != 0) printf(" %s", gai_strerror(code));
    for (int six = 0; code == 0 && six < 2; ++six)
      for (struct addrinfo* at = found; at; at = at->ai_next) {
        char host[64];
        if (is_six(at) != six) continue;
        getnameinfo(at->ai_addr, at->ai_addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST);
        printf(" %s", host);
      }
    printf("\n");
  }
  return 0;
}
