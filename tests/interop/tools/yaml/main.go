// Says what sigs.k8s.io/yaml makes of texts. Each comes as four bytes of its length and the text; each answer is a line of JSON,
// an object with the value, or with the error.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	input, output := bufio.NewReader(os.Stdin), bufio.NewWriter(os.Stdout)
	for {
		var length uint32
		if err := binary.Read(input, binary.BigEndian, &length); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		text := make([]byte, length)
		if _, err := io.ReadFull(input, text); err != nil {
			log.Fatal(err)
		}
		answer := map[string]any{}
		if value, err := yaml.YAMLToJSON(text); err != nil {
			answer["error"] = err.Error()
		} else {
			answer["value"] = json.RawMessage(value)
		}
		line, err := json.Marshal(answer)
		if err != nil {
			log.Fatal(err)
		}
		output.Write(append(line, '\n'))
		if err := output.Flush(); err != nil {
			log.Fatal(err)
		}
	}
}
